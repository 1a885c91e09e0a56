/*
 * unwind_counts.h
 *		How many user stacks of each executable reached a root. Flusher thread.
 *
 * Counts gather here between two reports, which go with a batch into profstore.unwind_counts.
 * Bounded: executables that no longer fit are counted together, under "".
 */
#ifndef COLLECTOR_UNWIND_COUNTS_H
#define COLLECTOR_UNWIND_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"
#include "batch/batch.h"

typedef struct UnwindCounts
{
	Budget budget;
	Arena arena; /* paths */
	Table table; /* of BatchUnwound */
	BatchUnwound others;
} UnwindCounts;

void unwind_counts_init(UnwindCounts *counts);
void unwind_counts_fini(UnwindCounts *counts);

/* count samples with a user side; the path is copied. */
void unwind_counts_add(UnwindCounts *counts, const char *exe, uint64_t count, bool complete);

/* Moves all counts to the batch; what does not fit into it stays for the next one. */
void unwind_counts_report(UnwindCounts *counts, Batch *batch);

#endif
