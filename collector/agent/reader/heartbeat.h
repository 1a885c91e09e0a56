/*
 * heartbeat.h
 *		How long a thread has worked on its current task: set by the thread, read by any other
 *		thread.
 */
#ifndef COLLECTOR_HEARTBEAT_H
#define COLLECTOR_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

typedef struct Heartbeat
{
	_Atomic int64_t busy_since_ns; /* CLOCK_MONOTONIC; 0: it waits for work */
} Heartbeat;

/* A task begins, which ends the task before it. */
static inline void
heartbeat_work(Heartbeat *heartbeat)
{
	atomic_store_explicit(&heartbeat->busy_since_ns, clock_ns(CLOCK_MONOTONIC),
						  memory_order_relaxed);
}

static inline void
heartbeat_wait(Heartbeat *heartbeat)
{
	atomic_store_explicit(&heartbeat->busy_since_ns, 0, memory_order_relaxed);
}

static inline int64_t
heartbeat_busy_ms(const Heartbeat *heartbeat)
{
	int64_t since_ns = atomic_load_explicit(&heartbeat->busy_since_ns, memory_order_relaxed);

	return since_ns != 0 ? (clock_ns(CLOCK_MONOTONIC) - since_ns) / 1000000 : 0;
}

#endif
