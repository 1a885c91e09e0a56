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

/* Cannot fail for the clocks that Linux always provides. */
static inline int64_t
clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/* Returns a time that is not negative, for functions that wait until then. */
static inline struct timespec
clock_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
}

/*
 * CLOCK_REALTIME - CLOCK_MONOTONIC, by readings of the latter, the former and the latter again, in
 * this order. known_ns stays if it agrees with the readings. So it moves only if the clock was set,
 * and not if the thread lost its processor between two readings.
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
