/*
 * custom_labels.h
 *		Selects which labels of threads become labels of their samples.
 *
 * The agent's user chooses the keys, because each set of values makes a new series. Values come
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
	char names[CUSTOM_LABELS_MAX][PFS_LABEL_KEY_BYTES + 1]; /* names of the labels in the series */
	uint32_t count;
} CustomLabels;

/* Labels of one sample, in the order of the keys. */
typedef struct CustomValues
{
	/* Names point into CustomLabels, values into the array below. */
	BatchLabel labels[CUSTOM_LABELS_MAX];
	char values[CUSTOM_LABELS_MAX][CUSTOM_LABEL_TEXT_BYTES];
	uint32_t count;
	PfsTraceIds ids;
} CustomValues;

/*
 * Parses "KEY,…". Returns false, with the reason in *problem, if a key is empty, too long, reserved
 * for the agent, or given twice.
 */
bool custom_labels_parse(const char *text, CustomLabels *wanted, const char **problem);

/*
 * Stores the wanted labels of a sample. If a key is repeated, its first value counts; an empty
 * value means that the label is absent.
 */
void custom_labels_pick(const CustomLabels *wanted, const struct pfs_labels *labels,
						CustomValues *values);

#endif
