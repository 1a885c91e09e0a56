/*
 * resolve.h
 *		An interval's raw frames become the functions and lines of a batch. Flusher thread.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/interval.h"
#include "agent/late_names.h"
#include "agent/unwind_counts.h"
#include "batch/batch.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"

typedef struct ResolveStats
{
	uint64_t samples;							/* put into the batch */
	uint64_t samples_failed;					/* did not fit */
	uint64_t traces_failed;						/* parts of samples that are there */
	uint64_t user_samples;						/* of those put in: with a user side */
	uint64_t complete;							/* … whose user side reaches a root */
	uint64_t addresses_only;					/* frames that are stored before their names */
	uint64_t incomplete[PFS_WALK_STATUS_COUNT]; /* … and the others, by how the walk ended */
} ResolveStats;

typedef struct ResolveContext
{
	MappedFileTable *files;
	Symbolizer *symbolizer;
	UnwindCounts *unwind_counts;
	LateNames *late; /* takes frames that are stored before their names; NULL: nobody does */
	int64_t
		deadline_ns;   /* CLOCK_MONOTONIC: nothing more is looked up then, after a first address */
	uint32_t round;	   /* of flushes: see symbol_ask.h */
	bool one_at_least; /* a first stack goes out then, with the names that are there */
	bool addresses_only; /* ask nobody: what is not cached is stored by binary and address */
} ResolveContext;

/*
 * Adds the samples of the interval's stacks from *next_stack on to the batch, each kind as its own
 * profile type, and moves *next_stack: to the end, or to the stack at which the deadline passed.
 * What does not fit is left out and counted. -ENOMEM, and *next_stack as it was, where not even the
 * tables that this needs can be had.
 */
int resolve_interval(const ResolveContext *context, const Interval *interval, uint32_t *next_stack,
					 Batch *batch, ResolveStats *stats);

#endif
