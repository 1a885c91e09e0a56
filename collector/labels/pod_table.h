/*
 * pod_table.h
 *		The pods of this node, and the lookup of a process's pod by its control group.
 *
 * A pod is described by one line (kubernetes/README.md) of tab-separated fields, which the table
 * copies:
 *
 *   UID  namespace=shop  pod_name=api-1  pod_label_app=api  container=ID NAME IMAGE 0
 *
 * In values, bytes below space, DEL and '%' are written as "%41". All functions may be called from
 * any thread.
 */
#ifndef COLLECTOR_POD_TABLE_H
#define COLLECTOR_POD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/process_rules.h"

#define POD_LINE_BYTES ((size_t) 64 * 1024)
#define PODS_MAX	   4096 /* limit of pods, including those that are gone */
#define POD_KEEP_NS	   (300 * UINT64_C(1000000000))

typedef struct PodTable PodTable;

int pod_table_create(PodTable **table); /* returns 0 or -ENOMEM */
void pod_table_free(PodTable *table);	/* accepts NULL */

/*
 * Adds or updates a pod. Returns 1 if that changed something, 0 if not; -EINVAL for a malformed
 * line; -ENOSPC if the table is full; -ENOMEM.
 */
int pod_table_set(PodTable *table, const char *line);

/*
 * Marks a pod as gone. The pod can still be found for POD_KEEP_NS, because samples may arrive late.
 */
void pod_table_remove(PodTable *table, const char *uid, uint64_t now_ns);

/* Begin and end a full list: pods that are not set between the two calls are marked as gone. */
void pod_table_begin(PodTable *table);
void pod_table_end(PodTable *table, uint64_t now_ns);

/* Frees pods that have been gone for POD_KEEP_NS. */
void pod_table_sweep(PodTable *table, uint64_t now_ns);
size_t pod_table_count(PodTable *table);

/* Settings of pod_labels_add(): the pod labels and annotations that are stored. */
typedef struct PodLabels
{
	PodTable *table;
	ConfigList chosen; /* list of const char *: keys of fields */
} PodLabels;

/*
 * The function of a LabelSource, whose context is a PodLabels. Adds namespace, pod, container,
 * workload_kind, workload and the chosen fields; and everything under "__meta_kubernetes_" for
 * rules.
 *
 * A process may make groups below its own and name them freely. So the outermost known container in
 * its path counts, and only within the outermost group that carries a pod's UID; groups below a
 * user's manager (user@1000.service) never count.
 */
void pod_labels_add(void *pod_labels, const LabelFacts *facts, LabelBuilder *labels);

#endif
