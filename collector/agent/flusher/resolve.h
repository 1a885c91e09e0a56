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
	uint64_t samples;		 /* added to the batch */
	uint64_t samples_failed; /* that did not fit */
	uint64_t traces_failed;	 /* parts of kept samples that did not fit */
	uint64_t user_samples;	 /* of samples: those with a user side */
	/* of user_samples: those whose stack reaches a root */
	uint64_t complete;
	uint64_t addresses_only; /* frames that are stored before their names */
	/* of user_samples: the others, by the status of their walk */
	uint64_t incomplete[PFS_WALK_STATUS_COUNT];
} ResolveStats;

typedef struct ResolveContext
{
	MappedFileTable *files;
	Symbolizer *symbolizer;
	UnwindCounts *unwind_counts;
	/* receives frames that are stored before their names; NULL: they are not collected */
	LateNames *late;
	int64_t deadline_ns; /* CLOCK_MONOTONIC; after it only the first address is still looked up */
	uint32_t round;		 /* number of the flush; see symbol_ask.h */
	bool one_at_least;	 /* at the deadline store a first stack with the names that are known */
	/* do not ask for names; frames that are not cached are stored by binary and address */
	bool addresses_only;
} ResolveContext;

/*
 * Adds the samples of the interval's stacks from *next_stack on to the batch, each kind as its own
 * profile type. Sets *next_stack to the end, or to the stack at which the deadline passed. Samples
 * that do not fit are counted and left out. Returns 0, or -ENOMEM with *next_stack unchanged if the
 * tables for this cannot be allocated.
 */
int resolve_interval(const ResolveContext *context, const Interval *interval, uint32_t *next_stack,
					 Batch *batch, ResolveStats *stats);

#endif
