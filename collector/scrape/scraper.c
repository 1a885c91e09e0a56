/*
 * scraper.c
 *		Replacement of jobs, and rows of targets.
 */
#include "scrape/scraper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/log.h"

#define ROWS_EVERY_NS INT64_C(2000000000)
#define GONE_MAX	  100000
/* limit of the time for making targets in one round of the loop */
#define MAKING_NS	  INT64_C(10000000)

/* --- jobs --- */

/*
 * Called when a target is removed: its row is stored once more, unless too many removed targets
 * wait.
 */
static void
on_gone(void *context, ScrapeTarget *target)
{
	Scraper *scraper = context;

	target->state.health = TARGET_UNKNOWN;
	snprintf(target->state.error, sizeof(target->state.error),
			 "Target removed from configuration or discovery");
	/* The queue has the target already, and will store this state. */
	if (target->changed)
		return;
	/* The queue has room for all scheduled targets and for GONE_MAX removed ones. */
	if (scraper->changed.count >= scraper->schedule.count + GONE_MAX)
	{
		log_event(LOG_WARNING, "scrape", "too many removed targets wait to be stored");
		return;
	}
	target_queue_add(&scraper->changed, target);
}

static void
free_runs(JobRun **runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		job_run_free(runs[i]);
	free(runs);
}

static JobHost
host_of(Scraper *scraper)
{
	return (JobHost){ .client = scraper->client,
					  .schedule = &scraper->schedule,
					  .changed = &scraper->changed,
					  .gone = on_gone,
					  .context = scraper,
					  .targets_max = (size_t) scraper->options->targets_max };
}

static JobRun **
start_runs(Scraper *scraper, ScrapeConfig *config)
{
	const ScrapeJob *jobs = config->jobs.items;
	const JobHost host = host_of(scraper);
	JobRun **runs = calloc(config->jobs.count + 1, sizeof(JobRun *));

	for (size_t i = 0; runs != NULL && i < config->jobs.count; i++)
	{
		runs[i] = job_run_start(config, &jobs[i], &host);
		if (runs[i] != NULL)
			continue;
		free_runs(runs, i);
		return NULL;
	}
	return runs;
}

bool
scraper_adopt(Scraper *scraper, ScrapeConfig *config, int64_t now_ns)
{
	const JobHost host = host_of(scraper);
	JobRun **runs = start_runs(scraper, config);
	OperatorJobs *operator_jobs = runs == NULL ? NULL : operator_jobs_create(config, &host);

	if (runs != NULL && operator_jobs == NULL)
		free_runs(runs, config->jobs.count);
	if (operator_jobs == NULL)
		return false;
	/* A job takes over the targets of an older job with its name before that is freed. */
	for (size_t i = 0; i < config->jobs.count; i++)
		for (size_t j = 0; j < scraper->run_count; j++)
			if (strcmp(job_run_name(runs[i]), job_run_name(scraper->runs[j])) == 0)
				job_run_inherit(runs[i], scraper->runs[j], now_ns);
	operator_jobs_inherit(operator_jobs, scraper->operator_jobs);
	operator_jobs_free(scraper->operator_jobs);
	free_runs(scraper->runs, scraper->run_count);
	scrape_config_release(scraper->config);
	scraper->operator_jobs = operator_jobs;
	scraper->runs = runs;
	scraper->run_count = config->jobs.count;
	scraper->config = config;
	return true;
}

void
scraper_each_run(const Scraper *scraper, void (*see)(void *context, JobRun *run), void *context)
{
	for (size_t i = 0; i < scraper->run_count; i++)
		see(context, scraper->runs[i]);
	operator_jobs_each(scraper->operator_jobs, see, context);
}

int64_t
scraper_tick(Scraper *scraper, int64_t now_ns)
{
	/* All jobs share the time of one round. */
	int64_t until_ns = now_ns + MAKING_NS;
	int64_t due_ns = operator_jobs_tick(scraper->operator_jobs, now_ns, until_ns);

	for (size_t i = 0; i < scraper->run_count; i++)
		due_ns = MIN(due_ns, job_run_tick(scraper->runs[i], now_ns, until_ns));
	return due_ns;
}

/* --- rows --- */

/*
 * Releases the targets whose rows were being stored. If storing failed, puts them at the front of
 * the queue instead: behind a newer target of the same name, the row of a removed target would
 * later overwrite the newer row.
 */
static void
release_storing(Scraper *scraper, bool failed)
{
	while (scraper->storing_count > 0)
	{
		ScrapeTarget *target = scraper->storing[--scraper->storing_count];

		if (failed)
			target_queue_put_back(&scraper->changed, target);
		scrape_target_release(target);
	}
}

static void
take_rows(Scraper *scraper)
{
	ScrapeTarget *target;

	while (scraper->storing_count < TARGET_ROWS_MAX &&
		   (target = target_queue_take(&scraper->changed)) != NULL)
	{
		/* The target that replaced it has the row. */
		if (target->is_replaced)
			scrape_target_release(target);
		else
			scraper->storing[scraper->storing_count++] = target;
	}
}

void
scraper_store_rows(Scraper *scraper, int64_t now_ns)
{
	TargetRows rows;
	bool failed;

	/* The thread stores one set of rows at a time. */
	if (now_ns < scraper->rows_ns + ROWS_EVERY_NS || !target_store_is_idle(scraper->store, &failed))
		return;
	scraper->rows_ns = now_ns;
	if (scraper->storing == NULL)
		scraper->storing = calloc(TARGET_ROWS_MAX, sizeof(ScrapeTarget *));
	if (scraper->storing == NULL)
		return;
	release_storing(scraper, failed);
	take_rows(scraper);
	if (scraper->storing_count == 0)
		return;
	target_rows_begin(&rows, scraper->storing_count);
	for (size_t i = 0; i < scraper->storing_count; i++)
		target_rows_add(&rows, scraper->storing[i]);
	target_store_put(scraper->store, &rows);
}

void
scraper_fini(Scraper *scraper)
{
	ScrapeTarget *target;

	operator_jobs_free(scraper->operator_jobs);
	free_runs(scraper->runs, scraper->run_count);
	release_storing(scraper, false);
	while ((target = target_queue_take(&scraper->changed)) != NULL)
		scrape_target_release(target);
	free(scraper->storing);
	schedule_fini(&scraper->schedule);
	scrape_config_release(scraper->config);
}
