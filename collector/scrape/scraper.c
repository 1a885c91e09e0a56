/*
 * scraper.c
 *		Jobs come and go; rows of targets.
 */
#include "scrape/scraper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/grow.h"
#include "base/log.h"

#define ROWS_EVERY_NS INT64_C(2000000000)
#define MAKING_NS	  INT64_C(10000000) /* of a turn of the loop, for targets to be made */

/* --- jobs --- */

static void
on_gone(void *context, ScrapeTarget *target)
{
	Scraper *scraper = context;

	target->state.health = TARGET_UNKNOWN;
	snprintf(target->state.error, sizeof(target->state.error), "It is no target any more");
	target->changed = true;
	if (grow_array(&scraper->gone, &scraper->gone_capacity, scraper->gone_count,
				   sizeof(ScrapeTarget *)) != 0)
	{
		log_event(LOG_ERROR, "scrape", "out of memory");
		return;
	}
	target->references++;
	scraper->gone[scraper->gone_count++] = target;
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
	int64_t until_ns = now_ns + MAKING_NS;
	int64_t due_ns = operator_jobs_tick(scraper->operator_jobs, now_ns, until_ns);

	for (size_t i = 0; i < scraper->run_count; i++)
		due_ns = MIN(due_ns, job_run_tick(scraper->runs[i], now_ns, until_ns));
	return due_ns;
}

/* --- rows --- */

static void
release_storing(Scraper *scraper, bool failed)
{
	for (size_t i = 0; i < scraper->storing_count; i++)
	{
		scraper->storing[i]->changed |= failed;
		scrape_target_release(scraper->storing[i]);
	}
	scraper->storing_count = 0;
}

static void
take_row(Scraper *scraper, ScrapeTarget *target)
{
	if (!target->changed || scraper->storing_count == TARGET_ROWS_MAX)
		return;
	target->changed = false;
	target->references++;
	scraper->storing[scraper->storing_count++] = target;
}

/* Those that are no more have their row once: what is stored then is not tried again. */
static void
take_gone(Scraper *scraper)
{
	size_t count = MIN(scraper->gone_count, TARGET_ROWS_MAX);

	for (size_t i = 0; i < count; i++)
	{
		take_row(scraper, scraper->gone[i]);
		scrape_target_release(scraper->gone[i]);
	}
	memmove(scraper->gone, scraper->gone + count,
			(scraper->gone_count - count) * sizeof(ScrapeTarget *));
	scraper->gone_count -= count;
}

static void
take_rows_of(void *context, JobRun *run)
{
	for (ScrapeTarget *target = job_run_targets(run); target != NULL; target = target->hh.next)
		take_row(context, target);
}

static void
take_rows(Scraper *scraper)
{
	if (scraper->gone_count > 0)
	{
		/* alone: one of them may be a target again, and a name has one row in a statement */
		take_gone(scraper);
		return;
	}
	scraper_each_run(scraper, take_rows_of, scraper);
}

void
scraper_store_rows(Scraper *scraper, int64_t now_ns)
{
	TargetRows rows;
	bool failed;

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
	operator_jobs_free(scraper->operator_jobs);
	free_runs(scraper->runs, scraper->run_count);
	for (size_t i = 0; i < scraper->gone_count; i++)
		scrape_target_release(scraper->gone[i]);
	release_storing(scraper, false);
	free(scraper->gone);
	free(scraper->storing);
	schedule_fini(&scraper->schedule);
	scrape_config_release(scraper->config);
}
