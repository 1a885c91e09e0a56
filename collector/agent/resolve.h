/*
 * resolve.h
 *		An interval's raw frames become the functions and lines of a batch. Flusher thread.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stdint.h>

#include "agent/image.h"
#include "agent/interval.h"
#include "base/batch.h"
#include "symbols/symbolizer.h"

typedef struct ResolveStats
{
	uint64_t samples;							/* put into the batch */
	uint64_t samples_failed;					/* did not fit */
	uint64_t user_samples;						/* of those put in: with a user side */
	uint64_t complete;							/* … whose user side reaches a root */
	uint64_t incomplete[PFS_WALK_STATUS_COUNT]; /* … and the others, by how the walk ended */
} ResolveStats;

typedef struct ResolveContext
{
	ImageTable *images;
	Symbolizer *symbolizer;
	int64_t period_ns; /* CPU time that one sample stands for */
} ResolveContext;

/*
 * Adds all samples of the interval to the batch, as nanoseconds of CPU time. What does not fit is
 * left out and counted. -ENOMEM where not even the tables that this needs can be had; the batch
 * then has some of the samples.
 */
int resolve_interval(const ResolveContext *context, const Interval *interval, Batch *batch,
					 ResolveStats *stats);

#endif
