/*
 * kube_groups.h
 *		Converts Kubernetes' objects to groups of targets with Prometheus' labels.
 */
#ifndef COLLECTOR_KUBE_GROUPS_H
#define COLLECTOR_KUBE_GROUPS_H

#include <jansson.h>

#include "discovery/target_group.h"

/* Other known objects by "namespace/name"; NULL if unknown. */
typedef struct KubeKnown
{
	json_t *(*pod)(void *context, const char *key);
	json_t *(*service)(void *context, const char *key);
	void *context;
} KubeKnown;

/* Each returns the object's group with that source; NULL if out of memory. */
TargetGroup *kube_pod_group(const char *source, const json_t *pod);
TargetGroup *kube_service_group(const char *source, const json_t *service);
TargetGroup *kube_node_group(const char *source, const json_t *node);
TargetGroup *kube_ingress_group(const char *source, const json_t *ingress);
TargetGroup *kube_endpoints_group(const char *source, const json_t *endpoints,
								  const KubeKnown *known);
TargetGroup *kube_slice_group(const char *source, const json_t *slice, const KubeKnown *known);

#endif
