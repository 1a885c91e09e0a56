/*
 * custom_labels.h
 *		Which labels of threads become labels of their samples, and under which names.
 *
 * Each set of values is a series of its own, so keys are chosen by who runs the agent. Values are
 * the program's, any bytes: what is no character is replaced. A key and a value that tell a trace
 * or a span (formats/trace_ids.h) are its id, and no label.
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

/* Keys that are wanted. */
typedef struct CustomLabels
{
	char keys[CUSTOM_LABELS_MAX][PFS_LABEL_KEY_BYTES + 1];
	char names[CUSTOM_LABELS_MAX][PFS_LABEL_KEY_BYTES + 1]; /* what series have in their place */
	uint32_t count;
} CustomLabels;

/* Those of a sample, in the order of the keys. */
typedef struct CustomValues
{
	BatchLabel labels[CUSTOM_LABELS_MAX]; /* names are the keys', values lie here */
	char values[CUSTOM_LABELS_MAX][CUSTOM_LABEL_TEXT_BYTES];
	uint32_t count;
	PfsTraceIds ids;
} CustomValues;

/*
 * "KEY,…": false, and *problem says why, where a key is empty, too long, the name of a label that
 * the agent gives itself, or no other than one before.
 */
bool custom_labels_parse(const char *text, CustomLabels *wanted, const char **problem);

/* The first of equal keys counts; an empty value is no label. */
void custom_labels_pick(const CustomLabels *wanted, const struct pfs_labels *labels,
						CustomValues *values);

#endif
