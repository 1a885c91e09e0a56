/*
 * cpu_event.h
 *		A perf event of one CPU, and a test whether the event is still attached.
 *
 * When a CPU goes offline or the host is suspended, the kernel detaches the CPU's events, and does
 * not attach them again afterwards. Their descriptors stay open but deliver nothing. Only this test
 * notices a CPU that was offline for a moment.
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

/* The event's clock at the last check. A zeroed structure means that there was no check. */
typedef struct CpuEventClock
{
	uint64_t enabled_ns;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
} CpuEventClock;

/*
 * Returns true if the event was attached all the time since the last check. Interrupts the event's
 * CPU, so call it about once a second.
 */
bool cpu_event_lives(int fd, CpuEventClock *clock);

#endif
