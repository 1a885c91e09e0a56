/*
 * fetcher.c
 *		One scrape: request, answer, decoded.
 *
 * A target has one scrape at a time, from the request to the end of decoding. One that is due
 * meanwhile begins when it ends, as long as that is within the interval.
 *
 * A slot of --max-concurrent is for a connection that transfers. A delta is silent for as long as
 * it samples: it takes its slot when its answer begins, and is paused until there is one.
 */
#include "scrape/fetcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/log.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US 1000

/* How soon to look again where all requests are in use, or a target is still busy. */
#define AGAIN_NS (50 * NS_PER_MS)

typedef struct Scrape
{
	Fetcher *fetcher;
	ScrapeTarget *target;
	HttpTransfer *transfer;
	bool has_slot;
	bool is_paused;
	struct Scrape *paused_next;
} Scrape;

/* Requests of deltas at once: each takes some kB, and a descriptor. */
#define SILENT_MAX 20000

static void begin_or_tell(Fetcher *fetcher, ScrapeTarget *target);

/* --- slots --- */

/* A slot that is free while deltas are paused is theirs. */
static bool
may_begin(const Fetcher *fetcher, const ScrapeTarget *target)
{
	return target->profile->delta
			   ? fetcher->silent < SILENT_MAX && fetcher->concurrency > 0
			   : fetcher->running < fetcher->concurrency && fetcher->paused == NULL;
}

/* A delta's answer has begun. */
static bool
may_read(void *context)
{
	Scrape *scrape = context;
	Fetcher *fetcher = scrape->fetcher;

	if (scrape->has_slot)
		return true;
	if (fetcher->running < fetcher->concurrency && fetcher->paused == NULL)
	{
		scrape->has_slot = true;
		fetcher->silent--;
		fetcher->running++;
		return true;
	}
	if (scrape->is_paused)
		return false;
	scrape->is_paused = true;
	scrape->paused_next = NULL;
	if (fetcher->paused == NULL)
		fetcher->paused_last = &fetcher->paused;
	*fetcher->paused_last = scrape;
	fetcher->paused_last = &scrape->paused_next;
	return false;
}

static void
forget_paused(Fetcher *fetcher, Scrape *scrape)
{
	Scrape **link = &fetcher->paused;

	while (*link != scrape)
		link = &(*link)->paused_next;
	*link = scrape->paused_next;
	if (scrape->paused_next == NULL)
		fetcher->paused_last = link;
	scrape->is_paused = false;
}

/* Gives slots that are free to those that wait with an answer, before new requests get one. */
static void
resume_paused(Fetcher *fetcher)
{
	while (fetcher->paused != NULL && fetcher->running < fetcher->concurrency)
	{
		Scrape *scrape = fetcher->paused;

		forget_paused(fetcher, scrape);
		scrape->has_slot = true;
		fetcher->silent--;
		fetcher->running++;
		http_transfer_resume(scrape->transfer);
	}
}

static void
end_slot(Fetcher *fetcher, Scrape *scrape)
{
	if (scrape->is_paused)
		forget_paused(fetcher, scrape);
	if (scrape->has_slot)
		fetcher->running--;
	else
		fetcher->silent--;
}

/* --- one scrape --- */

/* Notes what became of a scrape, and logs a target that goes down or comes back. */
static void
set_state(Fetcher *fetcher, ScrapeTarget *target, const ScrapedProfile *profile)
{
	TargetHealth health = profile->error[0] == '\0' ? TARGET_UP : TARGET_DOWN;

	if (target->gone)
		return;
	if (health == TARGET_DOWN && target->state.health != TARGET_DOWN)
		log_event(LOG_WARNING, "scrape", "could not scrape a target",
				  log_text("target", target->name), log_text("detail", profile->error));
	else if (health == TARGET_UP && target->state.health == TARGET_DOWN)
		log_event(LOG_INFO, "scrape", "a target can be scraped again",
				  log_text("target", target->name));
	target->state = (TargetState){ .health = health,
								   .time_us = profile->time_us,
								   .duration_us = profile->duration_us,
								   .samples = profile->samples };
	snprintf(target->state.error, sizeof(target->state.error), "%s", profile->error);
	target_queue_add(fetcher->changed, target);
}

/* Counts scrapes that are left out, here and in the target's row. */
static void
skip(Fetcher *fetcher, ScrapeTarget *target, uint64_t count)
{
	if (count == 0)
		return;
	fetcher->stats.skipped += count;
	target->skipped += count;
	target_queue_add(fetcher->changed, target);
	log_event(LOG_WARNING, "scrape", "skipped scrapes of a target",
			  log_text("target", target->name), log_number("skipped", (int64_t) target->skipped),
			  log_number("requests", (int64_t) fetcher->running),
			  log_number("max_concurrent", (int64_t) fetcher->concurrency));
}

/* Begins what was due meanwhile, unless the target is none any more. */
static void
begin_late(Fetcher *fetcher, ScrapeTarget *target)
{
	bool late = target->late;

	target->late = false;
	if (late && target->heap_at != SIZE_MAX && may_begin(fetcher, target))
		begin_or_tell(fetcher, target);
	else if (late && target->heap_at != SIZE_MAX)
		skip(fetcher, target, 1);
}

static void
finish(Fetcher *fetcher, ScrapedProfile *profile)
{
	ScrapeTarget *target = profile->target;

	fetcher->stats.scrapes++;
	fetcher->stats.failed += profile->error[0] != '\0';
	fetcher->stats.samples += (uint64_t) profile->samples;
	target->busy = false;
	set_state(fetcher, target, profile);
	http_body_free(&profile->body);
	begin_late(fetcher, target);
	scrape_target_release(target);
	free(profile);
}

static void
judge_answer(ScrapedProfile *profile, const HttpAnswer *answer)
{
	if (answer->error[0] != '\0')
		snprintf(profile->error, sizeof(profile->error), "%s", answer->error);
	else if (answer->status != 200)
		snprintf(profile->error, sizeof(profile->error), "The server answered %ld", answer->status);
	else if (answer->body.length == 0)
		snprintf(profile->error, sizeof(profile->error), "The answer is empty");
}

static void
on_answer(void *context, HttpAnswer *answer)
{
	Scrape *scrape = context;
	Fetcher *fetcher = scrape->fetcher;
	ScrapedProfile *profile = calloc(1, sizeof(ScrapedProfile));
	ScrapeTarget *target = scrape->target;

	end_slot(fetcher, scrape);
	free(scrape);
	if (profile == NULL)
	{
		target->busy = false;
		fetcher->stats.failed++;
		log_event(LOG_ERROR, "scrape", "out of memory");
		scrape_target_release(target);
		return;
	}
	profile->target = target;
	profile->time_us = target->started_us;
	profile->duration_us = answer->duration_ns / NS_PER_US;
	judge_answer(profile, answer);
	if (profile->error[0] != '\0')
	{
		finish(fetcher, profile);
		return;
	}
	profile->body = answer->body;
	answer->body = (HttpBody){ NULL };
	storer_put(fetcher->storer, profile);
}

static bool
begin(Fetcher *fetcher, ScrapeTarget *target)
{
	Scrape *scrape = calloc(1, sizeof(Scrape));
	const HttpRequest request = { .url = target->url,
								  .settings = &target->job->http,
								  .timeout_ms = target->job->timeout_ms,
								  .body_max = fetcher->body_max,
								  .may_read = may_read,
								  .on_end = on_answer,
								  .context = scrape };

	if (scrape == NULL || (scrape->transfer = http_client_start(fetcher->client, &request)) == NULL)
	{
		free(scrape);
		return false;
	}
	scrape->fetcher = fetcher;
	scrape->target = target;
	scrape->has_slot = !target->profile->delta;
	target->references++;
	target->busy = true;
	target->started_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	if (scrape->has_slot)
		fetcher->running++;
	else
		fetcher->silent++;
	return true;
}

static void
begin_or_tell(Fetcher *fetcher, ScrapeTarget *target)
{
	if (begin(fetcher, target))
		return;
	fetcher->stats.failed++;
	log_event(LOG_ERROR, "scrape", "could not begin a scrape", log_text("target", target->name),
			  log_text("detail", "Out of memory."));
}

static void
move_due(Fetcher *fetcher, ScrapeTarget *target, int64_t due_ns)
{
	schedule_remove(fetcher->schedule, target);
	target->due_ns = due_ns;
	(void) schedule_add(fetcher->schedule, target); /* there is room: it was in it */
}

/* The next moment of the target's rhythm; what was missed is counted. */
static void
move_on(Fetcher *fetcher, ScrapeTarget *target, int64_t now_ns)
{
	int64_t interval_ns = target->job->interval_ms * NS_PER_MS;
	int64_t missed = (now_ns - target->due_ns) / interval_ns;

	skip(fetcher, target, (uint64_t) missed);
	move_due(fetcher, target, target->due_ns + (missed + 1) * interval_ns);
}

/* Begins the deltas, or the others, that are due; when to call again. */
static int64_t
begin_due(Fetcher *fetcher, bool is_delta, int64_t now_ns)
{
	ScrapeTarget *target;

	while ((target = schedule_first(fetcher->schedule, is_delta)) != NULL &&
		   target->due_ns <= now_ns)
	{
		if (!target->busy && !may_begin(fetcher, target))
		{
			fetcher->stats.waited++;
			return now_ns + AGAIN_NS;
		}
		if (!target->busy)
			begin_or_tell(fetcher, target);
		else
		{
			skip(fetcher, target, target->late);
			target->late = true;
		}
		move_on(fetcher, target, now_ns);
	}
	return target == NULL ? INT64_MAX : target->due_ns;
}

int64_t
fetcher_tick(Fetcher *fetcher, int64_t now_ns)
{
	int64_t due_ns;

	resume_paused(fetcher);
	due_ns = begin_due(fetcher, true, now_ns);
	return MIN(due_ns, begin_due(fetcher, false, now_ns));
}

void
fetcher_collect(Fetcher *fetcher)
{
	ScrapedProfile *profile = storer_take(fetcher->storer);

	while (profile != NULL)
	{
		ScrapedProfile *next = profile->next;

		finish(fetcher, profile);
		profile = next;
	}
}
