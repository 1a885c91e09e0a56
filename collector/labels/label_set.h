/*
 * label_set.h
 *		Sets of labels: each once, whichever processes have it, and never changed.
 *
 * A set is counted by those who hold it. The table that it comes from belongs to one thread at a
 * time, as its owner's lock sees to; holding once more and giving back are any thread's, whoever
 * holds the set. A set that nobody holds stays for ten minutes: when a program of that name runs
 * again it is no new series.
 */
#ifndef COLLECTOR_LABEL_SET_H
#define COLLECTOR_LABEL_SET_H

#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"

#define LABEL_SET_KEEP_NS (600 * UINT64_C(1000000000))

typedef struct LabelSet LabelSet;
typedef struct LabelSetTable LabelSetTable;

/* The table holds limit sets at most. 0 or -ENOMEM. */
int label_set_table_create(size_t limit, LabelSetTable **table);
void label_set_table_free(LabelSetTable *table); /* accepts NULL; frees sets that are held, too */

/* The set of these labels in this order, held for the caller; NULL: there is none yet. */
LabelSet *label_set_find(LabelSetTable *table, const BatchLabel *labels, uint32_t count,
						 uint64_t now_ns);

/*
 * A new set, which must not be there yet, with copies of the labels, held for the caller. NULL:
 * the table is full of sets that are in use, or memory is out.
 */
LabelSet *label_set_add(LabelSetTable *table, const BatchLabel *labels, uint32_t count,
						uint64_t now_ns);

/* Forgets sets that nobody has held or asked for in LABEL_SET_KEEP_NS. */
void label_set_table_sweep(LabelSetTable *table, uint64_t now_ns);
size_t label_set_table_count(const LabelSetTable *table);

LabelSet *label_set_retain(LabelSet *set);
void label_set_release(LabelSet *set); /* accepts NULL */

uint32_t label_set_labels(const LabelSet *set, const BatchLabel **labels);

/* The value of a label, "" where the set has none of that name. */
const char *label_set_value(const LabelSet *set, const char *name);

#endif
