/*
 * jfr_labels.h
 *		Labels that Pyroscope's agent for Java sends in addition to a flight recording: sets of
 *		labels, and texts, to which events of the recording refer by id.
 */
#ifndef COLLECTOR_PYROSCOPE_JFR_LABELS_H
#define COLLECTOR_PYROSCOPE_JFR_LABELS_H

#include "formats/id_index.h"
#include "otlp/message.h"

/* Ids of the texts of a label. */
typedef struct JfrLabelIds
{
	uint64_t key;
	uint64_t value;
} JfrLabelIds;

/* Labels of a set: a range of the list of all labels. */
typedef struct JfrContext
{
	uint32_t first;
	uint32_t count;
} JfrContext;

/* A zeroed structure has no labels. */
typedef struct JfrLabels
{
	PfsBudget budget;
	PfsIdIndex text_ids;
	PfsText *texts; /* point into the message, which must outlive the labels */
	PfsIdIndex context_ids;
	JfrContext *contexts;
	JfrLabelIds *labels;
	uint32_t label_count;
} JfrLabels;

/*
 * Reads LabelsSnapshot. Returns PFS_READ_OK, PFS_READ_MALFORMED, or the status of the budget. Call
 * jfr_labels_free() in any case.
 */
PfsReadStatus jfr_labels_read(JfrLabels *labels, Span message, PfsAllocator allocator);
void jfr_labels_free(JfrLabels *labels);

/* Returns the set with this id; an empty set if there is none. */
JfrContext jfr_labels_context(const JfrLabels *labels, uint64_t id);

/* Returns the text with this id; "" if there is none. */
PfsText jfr_labels_text(const JfrLabels *labels, uint64_t id);

#endif
