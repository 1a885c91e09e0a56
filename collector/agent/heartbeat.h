/*
 * heartbeat.h
 *		How long a thread has been at its piece of work: told by the thread, asked by any other.
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

/* A piece of work begins: the one before is done. */
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
