/*
 * job_run.h
 *		A job at work: its discoveries, what they found, and the targets that this makes.
 *
 * Belongs to the scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_JOB_RUN_H
#define COLLECTOR_SCRAPE_JOB_RUN_H

#include "scrape/schedule.h"

typedef struct JobRun JobRun;

/* Where a job's targets go to. */
typedef struct JobHost
{
	HttpClient *client;
	Schedule *schedule;
	TargetQueue *changed;
	/* Told of a target that is no more, before it is released. */
	void (*gone)(void *context, ScrapeTarget *target);
	void *context;
	size_t targets_max; /* of all jobs, by profile */
} JobHost;

typedef struct JobCounts
{
	size_t targets;
	uint64_t dropped; /* discovered, and dropped by a rule */
	uint64_t invalid; /* those that make no URL, or are too many */
} JobCounts;

/* NULL where memory is out. */
JobRun *job_run_start(ScrapeConfig *config, const ScrapeJob *job, const JobHost *host);

/*
 * Takes over the targets of a run of an older configuration: they go on until this one's
 * discoveries have had their time to find them again.
 */
void job_run_inherit(JobRun *run, JobRun *older, int64_t now_ns);
void job_run_free(JobRun *run); /* with its targets; accepts NULL */

/*
 * Calls discoveries that are due, and makes targets of what they found, until until_ns has come:
 * the rest follows in the next call. Returns when that is due.
 */
int64_t job_run_tick(JobRun *run, int64_t now_ns, int64_t until_ns);

const char *job_run_name(const JobRun *run);
JobCounts job_run_counts(const JobRun *run);
ScrapeTarget *job_run_targets(JobRun *run); /* the first; hh.next leads on */

#endif
