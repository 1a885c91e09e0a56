/*
 * clock.h
 *		Clocks as nanoseconds.
 */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define US_PER_MS INT64_C(1000)

/* Cannot fail for the clocks that Linux always provides. */
static inline int64_t
clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
