/*
 * stuck_fixture.h
 *		A file system that stops answering, a watchdog that ends waits for it, and a table of
 *		processes.
 */
#ifndef COLLECTOR_TEST_STUCK_FIXTURE_H
#define COLLECTOR_TEST_STUCK_FIXTURE_H

#include "process_fixture.h"

#include <limits.h>

#include "fuse_file.h"

/* Limit of waits in this test: after it the watchdog ends them. */
#define PATIENCE_S 20

static FuseFile fuse;
static bool have_fuse;
static atomic_llong deadline_ns;
static atomic_bool overdue;

/*
 * Runs the watchdog: answers the pending request after the deadline, and lets the test fail.
 * Without it the test would hang, because the kernel waits for the answer and no signal interrupts
 * that.
 */
static inline void *
watch(void *argument)
{
	for (;;)
	{
		usleep(100000);
		if (clock_ns(CLOCK_MONOTONIC) < atomic_load(&deadline_ns))
			continue;
		atomic_store(&overdue, true);
		fuse_file_let_go(&fuse);
	}
	return argument;
}

/* Opens the file system, and starts the watchdog. */
static inline int
stuck_begin(void **state)
{
	pthread_t watchdog;

	(void) state;
	have_fuse = fuse_file_open(&fuse);
	atomic_store(&deadline_ns, LLONG_MAX);
	return pthread_create(&watchdog, NULL, watch, NULL);
}

static inline int
stuck_end(void **state)
{
	(void) state;
	if (have_fuse)
		fuse_file_close(&fuse);
	return 0;
}

/* Begins the time after which the watchdog ends waits. */
static inline void
rewind_watchdog(void)
{
	atomic_store(&deadline_ns, clock_ns(CLOCK_MONOTONIC) + PATIENCE_S * (long long) NS_PER_S);
}

static inline int
stuck_setup(void **state)
{
	atomic_store(&overdue, false);
	rewind_watchdog();
	return setup(state);
}

/* Fails if a test needed the watchdog. */
static inline int
stuck_teardown(void **state)
{
	atomic_store(&deadline_ns, LLONG_MAX);
	fuse_file_let_go(&fuse);
	return teardown(state) != 0 || atomic_load(&overdue) ? -1 : 0;
}

static inline void
wait_until_held(void)
{
	while (atomic_load(&fuse.held_count) == 0)
		usleep(1000);
}

#endif
