/*
 * own_labels.c
 *		Lists of reserved label names.
 */
#include "labels/own_labels.h"

#include <stddef.h>
#include <string.h>

static bool
own_labels_has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool
own_labels_begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool
own_label_of_samples(const char *name)
{
	static const char *const names[] = { "node",		 "comm",		 "exe", "cgroup",
										 "container_id", "systemd_unit", "pid", "thread_name",
										 "wait",		 "fault",		 "gpu", "gpu_uuid" };

	return own_labels_has_name(names, sizeof(names) / sizeof(names[0]), name);
}

bool
own_label_is_reserved(const char *name)
{
	static const char *const names[] = { "namespace",	  "pod",	  "container",
										 "workload_kind", "workload", "tenant" };

	return own_label_of_samples(name) ||
		   own_labels_has_name(names, sizeof(names) / sizeof(names[0]), name) ||
		   own_labels_begins_with(name, "pod_label_") ||
		   own_labels_begins_with(name, "pod_annotation_") || own_labels_begins_with(name, "__");
}
