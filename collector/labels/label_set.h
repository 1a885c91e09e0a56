/*
 * label_set.h
 *		Immutable, shared sets of labels: equal sets exist once.
 *
 * Sets are reference counted. The table must be used by one thread at a time, under its owner's
 * lock; any thread that holds a set may retain and release it. A set without references is kept for
 * ten minutes, so that a program that runs again soon is not a new series.
 */
#ifndef COLLECTOR_LABEL_SET_H
#define COLLECTOR_LABEL_SET_H

#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"

#define LABEL_SET_KEEP_NS (600 * UINT64_C(1000000000))

typedef struct LabelSet LabelSet;
typedef struct LabelSetTable LabelSetTable;

/* Makes a table of up to limit sets. 0 or -ENOMEM. */
int label_set_table_create(size_t limit, LabelSetTable **table);
void label_set_table_free(LabelSetTable *table); /* accepts NULL; also frees sets with references */

/*
 * Returns the set of these labels, in this order, with a reference for the caller; NULL if the
 * table has no such set.
 */
LabelSet *label_set_find(LabelSetTable *table, const BatchLabel *labels, uint32_t count,
						 uint64_t now_ns);

/*
 * Adds a set, which must not exist yet, with copies of the labels and a reference for the caller.
 * NULL if the table is full of recently used sets, or on out of memory.
 */
LabelSet *label_set_add(LabelSetTable *table, const BatchLabel *labels, uint32_t count,
						uint64_t now_ns);

/* Frees sets that have had no references and no lookups for LABEL_SET_KEEP_NS. */
void label_set_table_sweep(LabelSetTable *table, uint64_t now_ns);
size_t label_set_table_count(const LabelSetTable *table);

LabelSet *label_set_retain(LabelSet *set);
void label_set_release(LabelSet *set); /* accepts NULL */

uint32_t label_set_labels(const LabelSet *set, const BatchLabel **labels);

/* Returns the value of a label; "" if the set lacks it. */
const char *label_set_value(const LabelSet *set, const char *name);

#endif
