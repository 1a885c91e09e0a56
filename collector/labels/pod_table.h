/*
 * pod_table.h
 *		The pods of this node: from a process's control group to what its pod is called.
 *
 * A pod comes as one line (kubernetes/README.md): fields apart by tabs, of which the table keeps a
 * copy.
 *
 *		UID  namespace=shop  pod_name=api-1  pod_label_app=api  container=ID NAME IMAGE 0
 *
 * Of values bytes below blank, DEL and '%' are written as "%41". Any thread.
 */
#ifndef COLLECTOR_POD_TABLE_H
#define COLLECTOR_POD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/process_rules.h"

#define POD_LINE_BYTES ((size_t) 64 * 1024)
#define PODS_MAX	   4096 /* those that are gone included */
#define POD_KEEP_NS	   (300 * UINT64_C(1000000000))

typedef struct PodTable PodTable;

int pod_table_create(PodTable **table); /* 0 or -ENOMEM */
void pod_table_free(PodTable *table);	/* accepts NULL */

/*
 * A pod as it is now. 1 where that is news, 0 where it was known; -EINVAL: it is no such line;
 * -ENOSPC: there are too many; -ENOMEM.
 */
int pod_table_set(PodTable *table, const char *line);

/* The pod is gone; what is sampled of it a moment before comes with its name still. */
void pod_table_remove(PodTable *table, const char *uid, uint64_t now_ns);

/* Between these two all pods are told that there are; others are gone. */
void pod_table_begin(PodTable *table);
void pod_table_end(PodTable *table, uint64_t now_ns);

/* Forgets those that have been gone for POD_KEEP_NS. */
void pod_table_sweep(PodTable *table, uint64_t now_ns);
size_t pod_table_count(PodTable *table);

/* Which of a pod's labels and annotations are stored. */
typedef struct PodLabels
{
	PodTable *table;
	ConfigList chosen; /* of const char *: keys of fields */
} PodLabels;

/*
 * A LabelSource's function, of PodLabels: namespace, pod, container, workload_kind, workload and
 * the chosen ones; all else under "__meta_kubernetes_".
 *
 * A process may make groups below its own, and call them what it likes. So of containers in its
 * path the outermost that is known counts, and only inside of the outermost group that bears a
 * UID, which is its pod's; and nothing below a user's own manager (user@1000.service).
 */
void pod_labels_add(void *pod_labels, const LabelFacts *facts, LabelBuilder *labels);

#endif
