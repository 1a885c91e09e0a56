/*
 * resolve.h
 *		Turns an interval's raw frames into the functions and lines of a batch. Flusher thread.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/flusher/late_names.h"
#include "agent/flusher/unwind_counts.h"
#include "agent/reader/interval.h"
#include "batch/batch.h"
#include "process/mapped_file.h"
#include "symbols/symbolizer.h"

typedef struct ResolveStats
{
	uint64_t samples;		 /* samples that were added to the batch */
	uint64_t samples_failed; /* samples for which the batch had no room */
	uint64_t traces_failed;	 /* traces and spans of added samples for which the batch had no room */
	uint64_t user_samples;	 /* added samples with a user side */
	/* Added samples whose user stack reaches a root. */
	uint64_t complete;
	uint64_t addresses_only; /* frames that are stored before their names are known */
	/* Added samples whose user stack reaches no root, by the status of their walk. */
	uint64_t incomplete[PFS_WALK_STATUS_COUNT];
} ResolveStats;

typedef struct ResolveContext
{
	MappedFileTable *files;
	Symbolizer *symbolizer;
	UnwindCounts *unwind_counts;
	/*
	 * Receives the frames that are stored before their names are known; NULL: they are not
	 * collected.
	 */
	LateNames *late;
	int64_t deadline_ns; /* CLOCK_MONOTONIC; after this time only one more address is looked up */
	uint32_t round;		 /* number of the flush; see symbol_ask.h */
	/* after the deadline, still store one stack with the names that are known */
	bool one_at_least;
	/* Ask for no names: frames that are not in the cache are stored by binary and address. */
	bool addresses_only;
} ResolveContext;

/*
 * Adds the samples of the interval's stacks from *next_stack on to the batch, each kind as its own
 * profile type. Sets *next_stack to the number of stacks, or to the stack at which the deadline
 * passed. Samples for which there is no room are counted and left out. Returns 0; -ENOMEM, with
 * *next_stack unchanged, if working memory cannot be allocated.
 */
int resolve_interval(const ResolveContext *context, const Interval *interval, uint32_t *next_stack,
					 Batch *batch, ResolveStats *stats);

#endif
