/*
 * cpu_event.h
 *		A perf event of one CPU, and whether it is still alive.
 *
 * When a CPU goes offline, the kernel detaches its events and does not attach them again when the
 * CPU returns; so it is after a suspend. Their descriptors stay open but deliver nothing. This
 * check is the only way to notice a CPU that was offline for a moment.
 */
#ifndef COLLECTOR_CPU_EVENT_H
#define COLLECTOR_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perf_event.h>

/*
 * Opens an event for everything that runs on a CPU. Sets attributes->read_format. Returns a
 * descriptor or -errno.
 */
int cpu_event_open(struct perf_event_attr *attributes, uint32_t cpu);

/* The event's clock at the last check. Zeroed: it has not been checked yet. */
typedef struct CpuEventClock
{
	uint64_t enabled_ns;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
} CpuEventClock;

/*
 * Returns whether the event has been attached since the last check. Interrupts the event's CPU, so
 * call it about once a second.
 */
bool cpu_event_lives(int fd, CpuEventClock *clock);

#endif
