/*
 * cpu_event.h
 *		A perf event of one CPU, and whether it still is one.
 *
 * A CPU that goes offline takes its events with it, and gives none back when it returns: so it is
 * after a suspend, too. Their descriptors stay open, and tell of nothing ever after. That a CPU was
 * away for a moment is seen by this alone.
 */
#ifndef COLLECTOR_CPU_EVENT_H
#define COLLECTOR_CPU_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perf_event.h>

/* An event on all that this CPU runs: its descriptor, or -errno. read_format is ours. */
int cpu_event_open(struct perf_event_attr *attributes, uint32_t cpu);

/* Where it was when it was looked at last; zeroed: it never was. */
typedef struct CpuEventClock
{
	uint64_t enabled_ns;
	uint64_t looked_ns; /* CLOCK_MONOTONIC */
} CpuEventClock;

/*
 * Has the event been there all the time since the last look? The CPU is interrupted for it, so look
 * about once a second.
 */
bool cpu_event_lives(int fd, CpuEventClock *clock);

#endif
