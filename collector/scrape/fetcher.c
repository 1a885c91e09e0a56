/*
 * fetcher.c
 *		Life of a scrape: request, answer, decoding.
 *
 * A target has one scrape at a time, from the request to the end of decoding. If another scrape
 * becomes due in the meantime, it starts when that ends; further ones are skipped.
 *
 * Each slot of --max-concurrent stands for a connection that transfers data. The request of a delta
 * transfers nothing while the target samples: it needs a slot only when its answer begins, and is
 * paused until it gets one. After PATIENCE_NS a request loses its slot and continues without one.
 * Its target then counts as slow, and the next requests to slow targets have limits of their own,
 * so that targets that hang delay only each other.
 */
#include "scrape/fetcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"

/* Pause before a scrape is tried again if all requests are in use or its target is busy. */
#define AGAIN_NS (50 * NS_PER_MS)

/* How long a request may keep a slot. */
#define PATIENCE_NS (2000 * NS_PER_MS)

/* Maximum number of requests without a slot; each takes a few kB and a descriptor. */
#define SLOTLESS_MAX 20000

typedef enum ScrapeStage
{
	SCRAPE_SAMPLES, /* the request of a delta whose answer has not begun */
	SCRAPE_PAUSED,	/* the answer of a delta has begun, but the request has no slot yet */
	SCRAPE_IN_SLOT,
	SCRAPE_SLOW, /* the request has lost its slot, or began as one to a slow target */
} ScrapeStage;

typedef struct Scrape
{
	Fetcher *fetcher;
	ScrapeTarget *target;
	HttpTransfer *transfer;
	ScrapeStage stage;
	int64_t slot_ns;	 /* time at which the request got its slot, or became slow */
	struct Scrape *prev; /* link in the list of paused requests, or of requests with slots */
	struct Scrape *next;
} Scrape;

static void scrape_begin_or_log(Fetcher *fetcher, ScrapeTarget *target);

/* --- slots --- */

/* Returns true if a slot is free. Paused deltas get free slots before new requests. */
static bool
has_slot(const Fetcher *fetcher)
{
	return fetcher->running < fetcher->concurrency && fetcher->paused == NULL;
}

/*
 * Returns true if a request of this kind may start. Requests to slow targets may use free slots
 * and, in addition, a quarter of --max-concurrent.
 */
static bool
may_begin(const Fetcher *fetcher, DueKind kind)
{
	switch (kind)
	{
		case DUE_DELTA:
			return fetcher->silent + fetcher->slow < SLOTLESS_MAX && fetcher->concurrency > 0;
		case DUE_PROMPT:
			return has_slot(fetcher);
		case DUE_SLOW:
			return fetcher->slow < (fetcher->concurrency + 3) / 4 ||
				   (fetcher->running + fetcher->slow < fetcher->concurrency && has_slot(fetcher));
		case DUE_KINDS:
			break;
	}
	return false;
}

static void
take_slot(Fetcher *fetcher, Scrape *scrape)
{
	scrape->stage = SCRAPE_IN_SLOT;
	scrape->slot_ns = fetcher->now_ns;
	fetcher->running++;
	DL_APPEND(fetcher->in_slots, scrape);
}

/* Accounts for a request that starts. */
static void
scrape_enter(Fetcher *fetcher, Scrape *scrape, DueKind kind)
{
	switch (kind)
	{
		case DUE_DELTA:
			scrape->stage = SCRAPE_SAMPLES;
			fetcher->silent++;
			break;
		case DUE_SLOW:
			scrape->stage = SCRAPE_SLOW;
			scrape->slot_ns = fetcher->now_ns;
			fetcher->slow++;
			break;
		case DUE_PROMPT:
		case DUE_KINDS:
			take_slot(fetcher, scrape);
	}
}

/*
 * Called when an answer begins. From then on a delta needs a slot; returns false, which pauses the
 * request, if none is free.
 */
static bool
fetcher_may_read(void *context)
{
	Scrape *scrape = context;
	Fetcher *fetcher = scrape->fetcher;

	if (scrape->stage == SCRAPE_SAMPLES && has_slot(fetcher))
	{
		fetcher->silent--;
		take_slot(fetcher, scrape);
	}
	else if (scrape->stage == SCRAPE_SAMPLES)
	{
		scrape->stage = SCRAPE_PAUSED;
		DL_APPEND(fetcher->paused, scrape);
	}
	return scrape->stage != SCRAPE_PAUSED;
}

/*
 * Takes slots from requests that have had theirs for PATIENCE_NS; the list is sorted by that time.
 */
static void
take_back_slots(Fetcher *fetcher)
{
	Scrape *scrape;

	while ((scrape = fetcher->in_slots) != NULL &&
		   fetcher->now_ns - scrape->slot_ns >= PATIENCE_NS &&
		   fetcher->silent + fetcher->slow < SLOTLESS_MAX)
	{
		DL_DELETE(fetcher->in_slots, scrape);
		fetcher->running--;
		scrape->stage = SCRAPE_SLOW;
		fetcher->slow++;
	}
}

/* Gives free slots to paused requests, before new requests get one. */
static void
resume_paused(Fetcher *fetcher)
{
	while (fetcher->paused != NULL && fetcher->running < fetcher->concurrency)
	{
		Scrape *scrape = fetcher->paused;

		DL_DELETE(fetcher->paused, scrape);
		fetcher->silent--;
		take_slot(fetcher, scrape);
		http_transfer_resume(scrape->transfer);
	}
}

/* Accounts for a request that has ended. */
static void
scrape_leave(Fetcher *fetcher, Scrape *scrape)
{
	switch (scrape->stage)
	{
		case SCRAPE_PAUSED:
			DL_DELETE(fetcher->paused, scrape);
			fetcher->silent--;
			break;
		case SCRAPE_SAMPLES:
			fetcher->silent--;
			break;
		case SCRAPE_IN_SLOT:
			DL_DELETE(fetcher->in_slots, scrape);
			fetcher->running--;
			break;
		case SCRAPE_SLOW:
			fetcher->slow--;
			break;
	}
}

/* Marks the target as slow if its request took longer than PATIENCE_NS, otherwise as not slow. */
static void
judge_pace(Fetcher *fetcher, const Scrape *scrape)
{
	bool is_slow = scrape->stage == SCRAPE_SLOW && fetcher->now_ns - scrape->slot_ns >= PATIENCE_NS;

	schedule_set_slow(fetcher->schedule, scrape->target, is_slow);
}

/* --- one scrape --- */

/* Stores the outcome of a scrape, and logs when a target stops or starts answering. */
static void
set_state(Fetcher *fetcher, ScrapeTarget *target, const ScrapedProfile *profile)
{
	TargetHealth health = profile->error[0] == '\0' ? TARGET_UP : TARGET_DOWN;

	/* The row of a removed target says that it was removed. */
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

/* Counts skipped scrapes, in the statistics and in the target's row. */
static void
skip_scrapes(Fetcher *fetcher, ScrapeTarget *target, uint64_t count)
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

/* Starts a scrape that became due while the target was busy, unless the target has been removed. */
static void
begin_late(Fetcher *fetcher, ScrapeTarget *target)
{
	bool late = target->late;

	target->late = false;
	/* A target that was removed from the schedule has no place in a heap. */
	if (late && target->heap_at != SIZE_MAX && may_begin(fetcher, due_kind(target)))
		scrape_begin_or_log(fetcher, target);
	else if (late && target->heap_at != SIZE_MAX)
		skip_scrapes(fetcher, target, 1);
}

static void
scrape_finish(Fetcher *fetcher, ScrapedProfile *profile)
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

/* Called with the answer: passes its body to the storer, or ends the scrape with an error. */
static void
fetcher_on_answer(void *context, HttpAnswer *answer)
{
	Scrape *scrape = context;
	Fetcher *fetcher = scrape->fetcher;
	ScrapedProfile *profile = calloc(1, sizeof(ScrapedProfile));
	ScrapeTarget *target = scrape->target;

	scrape_leave(fetcher, scrape);
	judge_pace(fetcher, scrape);
	free(scrape);
	/* Without a profile the scrape can only be counted. */
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
		scrape_finish(fetcher, profile);
		return;
	}
	/* The body moves to the profile, so the answer must not free it. */
	profile->body = answer->body;
	answer->body = (HttpBody){ NULL };
	storer_put(fetcher->storer, profile);
}

/* Starts the request of a scrape. Returns false on out of memory. */
static bool
scrape_begin(Fetcher *fetcher, ScrapeTarget *target)
{
	Scrape *scrape = calloc(1, sizeof(Scrape));
	const HttpRequest request = { .url = target->url,
								  .settings = &target->job->http,
								  .timeout_ms = target->job->timeout_ms,
								  .body_max = fetcher->body_max,
								  .may_read = fetcher_may_read,
								  .on_end = fetcher_on_answer,
								  .context = scrape };

	if (scrape == NULL || (scrape->transfer = http_client_start(fetcher->client, &request)) == NULL)
	{
		free(scrape);
		return false;
	}
	scrape->fetcher = fetcher;
	scrape->target = target;
	scrape_enter(fetcher, scrape, due_kind(target));
	/* The request uses the target until its answer is handled. */
	target->references++;
	target->busy = true;
	target->started_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	return true;
}

static void
scrape_begin_or_log(Fetcher *fetcher, ScrapeTarget *target)
{
	if (scrape_begin(fetcher, target))
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
	/* cannot fail, because the target was in the schedule and its room is kept */
	(void) schedule_add(fetcher->schedule, target);
}

/*
 * Sets the next time at which the target is due, a multiple of its interval after the last, and
 * counts missed times as skipped.
 */
static void
move_on(Fetcher *fetcher, ScrapeTarget *target, int64_t now_ns)
{
	int64_t interval_ns = target->job->interval_ms * NS_PER_MS;
	int64_t missed = (now_ns - target->due_ns) / interval_ns;

	skip_scrapes(fetcher, target, (uint64_t) missed);
	move_due(fetcher, target, target->due_ns + (missed + 1) * interval_ns);
}

/* Starts the scrapes of a kind that are due. Returns the time of the next call. */
static int64_t
begin_due(Fetcher *fetcher, DueKind kind, int64_t now_ns)
{
	ScrapeTarget *target;

	while ((target = schedule_first(fetcher->schedule, kind)) != NULL && target->due_ns <= now_ns)
	{
		/* The target stays in its place, so it is the first at the next call. */
		if (!target->busy && !may_begin(fetcher, kind))
		{
			fetcher->stats.waited++;
			return now_ns + AGAIN_NS;
		}
		if (!target->busy)
			scrape_begin_or_log(fetcher, target);
		else
		{
			/* One scrape may wait for the running one; if one waits already, that is skipped. */
			skip_scrapes(fetcher, target, target->late);
			target->late = true;
		}
		move_on(fetcher, target, now_ns);
	}
	return target == NULL ? INT64_MAX : target->due_ns;
}

int64_t
fetcher_tick(Fetcher *fetcher, int64_t now_ns)
{
	int64_t due_ns = INT64_MAX;

	fetcher->now_ns = now_ns;
	/* Paused requests get free slots before new requests do. */
	take_back_slots(fetcher);
	resume_paused(fetcher);
	for (int kind = 0; kind < DUE_KINDS; kind++)
		due_ns = MIN(due_ns, begin_due(fetcher, (DueKind) kind, now_ns));
	return due_ns;
}

void
fetcher_collect(Fetcher *fetcher)
{
	ScrapedProfile *profile = storer_take(fetcher->storer);

	while (profile != NULL)
	{
		ScrapedProfile *next = profile->next;

		scrape_finish(fetcher, profile);
		profile = next;
	}
}
