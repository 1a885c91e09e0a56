/*
 * clock.h
 *		Clocks as nanoseconds, and conditions that wait by them.
 */
#ifndef COLLECTOR_CLOCK_H
#define COLLECTOR_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define US_PER_MS INT64_C(1000)

/* Reads a clock that Linux always provides, so it cannot fail. */
static inline int64_t
clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* Converts a time for functions that wait until then. Negative times become 0. */
static inline struct timespec
clock_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

/*
 * Returns CLOCK_REALTIME - CLOCK_MONOTONIC. The arguments are readings of the monotonic clock, the
 * real-time clock and the monotonic clock again, taken in this order. Returns known_ns if it agrees
 * with the readings, so the result changes only if the clock was set, and not if the thread was
 * preempted between two readings.
 */
static inline int64_t
clock_offset_ns(int64_t known_ns, int64_t before_ns, int64_t real_ns, int64_t after_ns)
{
	int64_t least_ns = real_ns - after_ns;
	int64_t most_ns = real_ns - before_ns;

	if (known_ns >= least_ns && known_ns <= most_ns)
		return known_ns;
	return least_ns + (most_ns - least_ns) / 2;
}

/* Initializes a condition whose timed waits use CLOCK_MONOTONIC. Returns 0 or an errno. */
static inline int
clock_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int error;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	error = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return error;
}

#endif
