/*
 * perf_event.h
 *		The line that "perf script" prints for an event, taken apart. Knows no server header.
 *
 *		java 24636/24640 [003]  1794.123456:   10101010 cpu-clock:u: 7f2a3c012a40 f+0x14 (/bin/x)
 *
 * Only the event's name must be there. Behind it stand the arguments of a tracepoint or probe, or
 * the place where a recording without stacks was.
 */
#ifndef PFS_PERF_EVENT_H
#define PFS_PERF_EVENT_H

#include "formats/lines.h"

typedef struct PfsEventLine
{
	PfsText comm;  /* may be empty */
	PfsText event; /* without modifiers */
	PfsText rest;  /* behind the event's name */
	int64_t pid;
	int64_t tid;
	int64_t cpu;
	int64_t time_ns;
	int64_t period;
	bool has_pid;
	bool has_cpu;
	bool has_time;
	bool has_period;
	bool is_record; /* of what the kernel did, PERF_RECORD_...: no sample */
} PfsEventLine;

/* False where the line tells of no event. */
bool pfs_event_parse(PfsText line, PfsEventLine *event);

/* Whether the event is one of a group, a tracepoint or probe. */
bool pfs_event_is_traced(PfsText event);

/* Whether the event counts nanoseconds of a processor. */
bool pfs_event_is_clock(PfsText event);

#endif
