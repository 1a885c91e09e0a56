/*
 * perf_event.h
 *		The line that "perf script" prints for an event, taken apart. Knows no server header.
 *
 *		java 24636/24640 [003]  1794.123456:   10101010 cpu-clock:u:
 *
 * Process id or thread id, CPU, time and period may be missing.
 */
#ifndef PFS_PERF_EVENT_H
#define PFS_PERF_EVENT_H

#include "formats/lines.h"

typedef struct PfsEventLine
{
	PfsText comm;
	PfsText event; /* without modifiers */
	int64_t pid;
	int64_t tid;
	int64_t cpu;
	int64_t time_ns;
	int64_t period;
	bool has_pid;
	bool has_cpu;
	bool has_time;
	bool has_period;
} PfsEventLine;

/* False where the line tells of no event. */
bool pfs_event_parse(PfsText line, PfsEventLine *event);

/* Whether the event counts nanoseconds of a processor. */
bool pfs_event_is_clock(PfsText event);

#endif
