/*
 * custom_labels.h
 *		Selects the labels of threads that become labels of their samples.
 *
 * Each set of values is a series of its own, so the user of the agent chooses the keys. Values come
 * from the program and may be any bytes; invalid UTF-8 is replaced. A key and value that identify a
 * trace or span (formats/trace_ids.h) are stored as its id and not as a label.
 */
#ifndef COLLECTOR_CUSTOM_LABELS_H
#define COLLECTOR_CUSTOM_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "formats/trace_ids.h"
#include "thread_labels.h"

#define CUSTOM_LABELS_MAX		PFS_MAX_LABELS
#define CUSTOM_LABEL_TEXT_BYTES (3 * PFS_LABEL_VALUE_BYTES + 1)

/* The wanted keys. */
typedef struct CustomLabels
{
	char keys[CUSTOM_LABELS_MAX][PFS_LABEL_KEY_BYTES + 1];
	char names[CUSTOM_LABELS_MAX][PFS_LABEL_KEY_BYTES + 1]; /* names of the series' labels */
	uint32_t count;
} CustomLabels;

/* Labels of one sample, in the order of the keys. */
typedef struct CustomValues
{
	/* names point to CustomLabels, values to the array below */
	BatchLabel labels[CUSTOM_LABELS_MAX];
	char values[CUSTOM_LABELS_MAX][CUSTOM_LABEL_TEXT_BYTES];
	uint32_t count;
	PfsTraceIds ids;
} CustomValues;

/*
 * Parses "KEY,…". Returns false, with the reason in *problem, if a key is empty, too long, reserved
 * for the agent, or equal to an earlier one.
 */
bool custom_labels_parse(const char *text, CustomLabels *wanted, const char **problem);

/*
 * Picks the wanted labels of a sample. The first of equal keys counts; an empty value means that
 * the label is absent.
 */
void custom_labels_pick(const CustomLabels *wanted, const struct pfs_labels *labels,
						CustomValues *values);

#endif
