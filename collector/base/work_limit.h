/*
 * work_limit.h
 *		Bounds the work for a request from outside: by the CPU time of its thread, and by a flag
 *		that cancels it.
 *
 * The worker calls work_limit_allows() after each step of its work; a step must take less than a
 * few milliseconds.
 */
#ifndef COLLECTOR_WORK_LIMIT_H
#define COLLECTOR_WORK_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Number of steps, of about a nanosecond each, between two readings of the clock. */
#define WORK_LIMIT_STEPS ((uint64_t) 1 << 20)

typedef struct WorkLimit
{
	int64_t end_cpu_ns; /* CLOCK_THREAD_CPUTIME_ID at which the work must end */
	const atomic_bool *is_unwanted;
	uint64_t steps; /* number of steps since the clock was last read */
} WorkLimit;

static inline bool
work_limit_is_over(const WorkLimit *limit)
{
	return atomic_load_explicit(limit->is_unwanted, memory_order_relaxed) ||
		   clock_ns(CLOCK_THREAD_CPUTIME_ID) > limit->end_cpu_ns;
}

/* Counts steps. Returns false once the work must end; always true if limit is NULL. */
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
