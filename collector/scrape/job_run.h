/*
 * job_run.h
 *		A running job: its discoveries, their groups, and the targets made from them.
 *
 * Belongs to the scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_JOB_RUN_H
#define COLLECTOR_SCRAPE_JOB_RUN_H

#include "scrape/schedule.h"

typedef struct JobRun JobRun;

/* Schedule to which the targets of a job are added, and receiver of removed targets. */
typedef struct JobHost
{
	HttpClient *client;
	Schedule *schedule;
	TargetQueue *changed;
	/* Called with a removed target before it is released. */
	void (*gone)(void *context, ScrapeTarget *target);
	void *context;
	size_t targets_max; /* over all jobs; each profile counts */
} JobHost;

typedef struct JobCounts
{
	size_t targets;
	uint64_t dropped; /* label sets that a rule drops */
	uint64_t invalid; /* label sets that make no URL, or for which there is no room */
} JobCounts;

/* Starts a job of the configuration. Returns NULL if out of memory. */
JobRun *job_run_start(ScrapeConfig *config, const ScrapeJob *job, const JobHost *host);

/*
 * Moves the targets of an older run to this one. They stay until this run's discoveries have had
 * time to find them again.
 */
void job_run_inherit(JobRun *run, JobRun *older, int64_t now_ns);
void job_run_free(JobRun *run); /* frees its targets, too; accepts NULL */

/*
 * Runs the discoveries that are due, and makes targets from their results until until_ns; the next
 * call continues. Returns the time at which it must be called again.
 */
int64_t job_run_tick(JobRun *run, int64_t now_ns, int64_t until_ns);

const char *job_run_name(const JobRun *run);
JobCounts job_run_counts(const JobRun *run);
ScrapeTarget *job_run_targets(JobRun *run); /* the first one; hh.next leads to the others */

#endif
