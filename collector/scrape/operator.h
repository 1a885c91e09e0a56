/*
 * operator.h
 *		Jobs from ParcaScrapeConfig resources: each resource of the configuration's clusters is a
 *		job, which is added, changed and removed with it.
 *
 * A resource that cannot be read is logged, and its former job continues. Belongs to the scraper's
 * thread.
 */
#ifndef COLLECTOR_SCRAPE_OPERATOR_H
#define COLLECTOR_SCRAPE_OPERATOR_H

#include "scrape/job_run.h"

typedef struct OperatorJobs OperatorJobs;

/* Returns NULL on out of memory. Holds a reference to the configuration. */
OperatorJobs *operator_jobs_create(ScrapeConfig *config, const JobHost *host);

/*
 * Takes over the jobs of an older configuration. Each continues until its resource is found again
 * or known to be gone. older may be NULL; it is empty afterwards.
 */
void operator_jobs_inherit(OperatorJobs *jobs, OperatorJobs *older);
void operator_jobs_free(OperatorJobs *jobs); /* frees its jobs, too; accepts NULL */

/* Handles due watches and jobs. Returns the time of the next call. */
int64_t operator_jobs_tick(OperatorJobs *jobs, int64_t now_ns, int64_t until_ns);

/* Calls see for each job. jobs may be NULL. */
void operator_jobs_each(const OperatorJobs *jobs, void (*see)(void *context, JobRun *run),
						void *context);

/* Number of resources that could not be read. */
uint64_t operator_jobs_refused(const OperatorJobs *jobs);

#endif
