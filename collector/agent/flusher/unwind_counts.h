/*
 * unwind_counts.h
 *		Counts how many user stacks of each executable reached a root. Flusher thread.
 *
 * The counts since the last report go with a batch into profstore.unwind_counts. The number of
 * executables is bounded; further ones are counted together, under "".
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
	Table table; /* table of BatchUnwound */
	BatchUnwound others;
} UnwindCounts;

void unwind_counts_init(UnwindCounts *counts);
void unwind_counts_fini(UnwindCounts *counts);

/* Adds count samples with a user side to the executable; the path is copied. */
void unwind_counts_add(UnwindCounts *counts, const char *exe, uint64_t count, bool complete);

/* Moves all counts to the batch; counts that do not fit stay for the next report. */
void unwind_counts_report(UnwindCounts *counts, Batch *batch);

#endif
