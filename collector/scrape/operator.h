/*
 * operator.h
 *		Makes jobs from ParcaScrapeConfig resources: each resource of the configuration's clusters
 *		is a job, which is added, changed and removed with it.
 *
 * If a resource cannot be read, this is logged, and its previous job continues. Belongs to the
 * scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_OPERATOR_H
#define COLLECTOR_SCRAPE_OPERATOR_H

#include "scrape/job_run.h"

typedef struct OperatorJobs OperatorJobs;

/*
 * Starts the jobs of an operator's resources. They hold a reference to the configuration. Returns
 * NULL if out of memory.
 */
OperatorJobs *operator_jobs_create(ScrapeConfig *config, const JobHost *host);

/*
 * Moves the jobs of an older configuration to this one. Each continues until its resource is found
 * again or known to be gone. older may be NULL; afterwards it has no jobs.
 */
void operator_jobs_inherit(OperatorJobs *jobs, OperatorJobs *older);
void operator_jobs_free(OperatorJobs *jobs); /* frees its jobs, too; accepts NULL */

/* Handles the watches and jobs that are due. Returns the time of the next call. */
int64_t operator_jobs_tick(OperatorJobs *jobs, int64_t now_ns, int64_t until_ns);

/* Calls see with each job. jobs may be NULL. */
void operator_jobs_each(const OperatorJobs *jobs, void (*see)(void *context, JobRun *run),
						void *context);

/* Returns the number of resources that could not be read. */
uint64_t operator_jobs_refused(const OperatorJobs *jobs);

#endif
