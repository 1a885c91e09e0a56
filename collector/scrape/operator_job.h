/*
 * operator_job.h
 *		Converts a ParcaScrapeConfig, the resource of Parca Operator, into a job.
 *
 *   spec.selector           label selector of pods, applied by the API
 *   spec.scrapeConfig
 *     port, portNumber      selects a pod's port; without them all ports
 *     job                   the label "job"; default NAMESPACE/NAME
 *     interval, timeout, scheme, params, profilingConfig, relabelConfigs: as in Parca's file
 *
 * Targets are the pods of its namespace that have not ended, with the labels namespace, pod,
 * container and endpoint (the port).
 */
#ifndef COLLECTOR_SCRAPE_OPERATOR_JOB_H
#define COLLECTOR_SCRAPE_OPERATOR_JOB_H

#include <jansson.h>

#include "scrape/config.h"

/*
 * Makes a configuration with one job named key ("namespace/name"). It refers to its parent, which
 * owns access. Returns NULL, with *failure set, if the resource is invalid.
 */
ScrapeConfig *operator_job_make(ScrapeConfig *parent, const KubeAccess *access, const char *key,
								const json_t *resource, Failure *failure);

#endif
