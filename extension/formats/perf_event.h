/*
 * perf_event.h
 *		Parses the line that "perf script" prints for an event. Includes no server header.
 *
 *   java 24636/24640 [003]  1794.123456:   10101010 cpu-clock:u: 7f2a3c012a40 f+0x14 (/bin/x)
 *
 * Only the event's name is mandatory. It is followed by the arguments of a tracepoint or probe, or
 * by the location if the recording has no stacks.
 */
#ifndef PFS_PERF_EVENT_H
#define PFS_PERF_EVENT_H

#include "formats/lines.h"

typedef struct PfsEventLine
{
	PfsText comm;  /* may be empty */
	PfsText event; /* without modifiers */
	PfsText rest;  /* text after the event's name */
	int64_t pid;
	int64_t tid;
	int64_t cpu;
	int64_t time_ns;
	int64_t period;
	bool has_pid;
	bool has_cpu;
	bool has_time;
	bool has_period;
	bool is_record; /* a record of the kernel's actions (PERF_RECORD_*), which is not a sample */
} PfsEventLine;

/* Returns false if the line describes no event. */
bool pfs_event_parse(PfsText line, PfsEventLine *event);

/* Returns true for events of a group: tracepoints and probes. */
bool pfs_event_is_traced(PfsText event);

/* Returns true for events that count nanoseconds of a CPU. */
bool pfs_event_is_clock(PfsText event);

#endif
