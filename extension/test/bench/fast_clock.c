/*
 * fast_clock.c
 *		A library to preload: the time of day begins at FAST_CLOCK_BEGIN and runs FAST_CLOCK_SPEED
 *		times as fast. Waits keep their length.
 *
 * libfaketime cannot be used: it does not change the clock of a process that is forked in a handler
 * that interrupts select(), so the postmaster's background workers would have another clock than
 * its backends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define SECOND_US 1000000LL

static int (*real_clock)(clockid_t, struct timespec *);
static long long first_us;
static long long begin_us;
static long long speed;

static long long
real_us(void)
{
	struct timespec now;

	real_clock(CLOCK_REALTIME, &now);
	return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* Runs in the process that is started. Processes that it forks inherit the state. */
static void __attribute__((constructor)) begin(void)
{
	const char *begin_s = getenv("FAST_CLOCK_BEGIN");
	const char *speed_text = getenv("FAST_CLOCK_SPEED");

	real_clock = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	begin_us = begin_s == NULL ? 0 : atoll(begin_s) * SECOND_US;
	speed = speed_text == NULL ? 1 : atoll(speed_text);
	first_us = real_us();
}

static long long
fast_us(void)
{
	return begin_us + (real_us() - first_us) * speed;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	long long us = fast_us();

	(void) zone;
	*now = (struct timeval){ us / SECOND_US, us % SECOND_US };
	return 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	long long us;

	if (clock != CLOCK_REALTIME)
		return real_clock(clock, now);
	us = fast_us();
	*now = (struct timespec){ us / SECOND_US, us % SECOND_US * 1000 };
	return 0;
}

time_t
time(time_t *now)
{
	time_t seconds = fast_us() / SECOND_US;

	if (now != NULL)
		*now = seconds;
	return seconds;
}
