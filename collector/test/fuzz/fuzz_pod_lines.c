/*
 * fuzz_pod_lines.c
 *		Any bytes as lines of the watch of pods, and any path as that of a control group.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes/pod_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
find(PodTable *table, const uint8_t *data, size_t size)
{
	CgroupLabels cgroup = { .path = "" };
	LabelFacts facts = { .cgroup = &cgroup };
	PodLabels settings = { .table = table };
	LabelBuilder labels;

	label_builder_init(&labels);
	snprintf(cgroup.path, sizeof(cgroup.path), "%.*s", (int) size, (const char *) data);
	pod_labels_add(&settings, &facts, &labels);
	snprintf(cgroup.path, sizeof(cgroup.path),
			 "/kubepods/pod6a4b8f0e-8a3b-4b4f-9d52-1c1e4f5f0001/"
			 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	pod_labels_add(&settings, &facts, &labels);
	label_builder_fini(&labels);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PodTable *table;
	PodLines lines;

	if (pod_table_create(&table) != 0 || pod_lines_init(&lines, table) != 0)
		abort();
	pod_lines_begin(&lines);
	(void) pod_lines_take(&lines, (const char *) data, size, 1);
	find(table, data, size);
	pod_table_sweep(table, UINT64_MAX);
	pod_lines_fini(&lines);
	pod_table_free(table);
	return 0;
}
