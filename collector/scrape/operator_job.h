/*
 * operator_job.h
 *		A ParcaScrapeConfig, the resource of Parca Operator, into a job.
 *
 *	spec.selector				pods, by their labels: asked of the API
 *	spec.scrapeConfig
 *		port, portNumber		which of a pod's ports; none: all
 *		job						the label "job"; default: NAMESPACE/NAME
 *		interval, timeout, scheme, params, profilingConfig, relabelConfigs: as Parca's file has them
 *
 * Targets are the pods of its namespace that have not ended, with the labels namespace, pod,
 * container, endpoint (the port).
 */
#ifndef COLLECTOR_SCRAPE_OPERATOR_JOB_H
#define COLLECTOR_SCRAPE_OPERATOR_JOB_H

#include <jansson.h>

#include "scrape/config.h"

/*
 * A configuration of one job, named key ("namespace/name"), which refers to its parent, that has
 * access. NULL with *failure.
 */
ScrapeConfig *operator_job_make(ScrapeConfig *parent, const KubeAccess *access, const char *key,
								const json_t *resource, Failure *failure);

#endif
