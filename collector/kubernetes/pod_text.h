/*
 * pod_text.h
 *		A pod of Kubernetes' API as the line that the agent reads (labels/pod_table.h).
 */
#ifndef COLLECTOR_POD_TEXT_H
#define COLLECTOR_POD_TEXT_H

#include <stdbool.h>

#include <jansson.h>

/* The end of a chain of owners, such as a Deployment; kind is "" where there is none. */
typedef struct Workload
{
	char kind[64];
	char name[256];
} Workload;

/* The owner that controls an object; false: none does. uid is borrowed from the object. */
bool kube_controller(const json_t *object, Workload *owner, const char **uid);

/*
 * The line of a pod, with its end; of its annotations those whose names stand in the text between
 * commas. What does not fit POD_LINE_BYTES is left out, *left_out counts it. To be freed by the
 * caller; NULL: it has no UID, or memory is out.
 */
char *pod_text(const json_t *pod, const Workload *workload, const char *annotations,
			   size_t *left_out);

#endif
