/*
 * operator.h
 *		Jobs of ParcaScrapeConfig resources: one comes with each resource of the configuration's
 *		clusters, changes and goes with it.
 *
 * A resource that cannot be read is told of in the log, and leaves the job that it had before.
 * Belongs to the scraper's thread.
 */
#ifndef COLLECTOR_SCRAPE_OPERATOR_H
#define COLLECTOR_SCRAPE_OPERATOR_H

#include "scrape/job_run.h"

typedef struct OperatorJobs OperatorJobs;

/* NULL where memory is out. Holds a reference to the configuration. */
OperatorJobs *operator_jobs_create(ScrapeConfig *config, const JobHost *host);

/*
 * Takes over the jobs of an older configuration: each goes on until its resource is found again, or
 * is known to be gone. older may be NULL, and is empty then.
 */
void operator_jobs_inherit(OperatorJobs *jobs, OperatorJobs *older);
void operator_jobs_free(OperatorJobs *jobs); /* with its jobs; accepts NULL */

/* Resources and jobs that are due; when to call again. */
int64_t operator_jobs_tick(OperatorJobs *jobs, int64_t now_ns, int64_t until_ns);

/* Each job that there is; jobs may be NULL. */
void operator_jobs_each(const OperatorJobs *jobs, void (*see)(void *context, JobRun *run),
						void *context);

/* Resources that could not be read when they came. */
uint64_t operator_jobs_refused(const OperatorJobs *jobs);

#endif
