/*
 * pod_text.h
 *		Formats a pod of Kubernetes' API as the line that the agent reads (labels/pod_table.h).
 */
#ifndef COLLECTOR_POD_TEXT_H
#define COLLECTOR_POD_TEXT_H

#include <stdbool.h>

#include <jansson.h>

/* The end of a chain of owners, such as a Deployment; kind is "" if there is none. */
typedef struct Workload
{
	char kind[64];
	char name[256];
} Workload;

/* Returns the owner that controls an object; false if there is none. uid points into the object. */
bool kube_controller(const json_t *object, Workload *owner, const char **uid);

/*
 * Returns the line of a pod, including the newline; the caller frees it. annotations is a list of
 * the names to include, separated by commas. Fields that exceed POD_LINE_BYTES are left out and
 * counted in *left_out. Returns NULL if the pod has no UID, or out of memory.
 */
char *pod_text(const json_t *pod, const Workload *workload, const char *annotations,
			   size_t *left_out);

#endif
