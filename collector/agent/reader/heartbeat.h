/*
 * heartbeat.h
 *		Measures how long a thread has worked on its current task: the thread sets the start, any
 *		thread reads the duration.
 */
#ifndef COLLECTOR_HEARTBEAT_H
#define COLLECTOR_HEARTBEAT_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"

typedef struct Heartbeat
{
	_Atomic int64_t busy_since_ns; /* CLOCK_MONOTONIC; 0: the thread waits for work */
} Heartbeat;

/* Records that the thread begins a task; this also ends the previous task. */
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
