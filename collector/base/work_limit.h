/*
 * work_limit.h
 *		When a piece of work that an outsider asked for must end: after some processor time of its
 *		thread, or because nobody wants its result any more.
 *
 * The work asks at steps of its own choice, each below some milliseconds.
 */
#ifndef COLLECTOR_WORK_LIMIT_H
#define COLLECTOR_WORK_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Steps of work, about a nanosecond each, between two looks at the clock. */
#define WORK_LIMIT_STEPS ((uint64_t) 1 << 20)

typedef struct WorkLimit
{
	int64_t end_cpu_ns; /* of CLOCK_THREAD_CPUTIME_ID */
	const atomic_bool *is_unwanted;
	uint64_t steps; /* since the last look at the clock */
} WorkLimit;

static inline bool
work_limit_is_over(const WorkLimit *limit)
{
	return atomic_load_explicit(limit->is_unwanted, memory_order_relaxed) ||
		   clock_ns(CLOCK_THREAD_CPUTIME_ID) > limit->end_cpu_ns;
}

/* Counts steps. Returns false once the work must end; true without a limit (NULL). */
static inline bool
work_limit_allows(WorkLimit *limit, uint64_t steps)
{
	if (limit == NULL)
		return true;
	limit->steps += steps;
	if (limit->steps < WORK_LIMIT_STEPS)
		return true;
	limit->steps = 0;
	return !work_limit_is_over(limit);
}

#endif
