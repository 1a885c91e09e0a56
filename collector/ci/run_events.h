/*
 * run_events.h
 *		Samples the CPU time of a command and of all processes that it starts, by perf events that
 *		need no privilege.
 *
 * Each CPU has an event and a ring buffer. The kernel also reports forks, execs and mappings, so
 * that addresses can be resolved after the processes have ended. Records are kept in memory until
 * the run has ended, because those of different CPUs must be sorted by time first.
 */
#ifndef COLLECTOR_RUN_EVENTS_H
#define COLLECTOR_RUN_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/perf_event.h>

#include "program/failure.h"

typedef struct RunEvents RunEvents;

/* A record of the kernel, in its format (perf_event_open(2)). */
typedef struct RunRecord
{
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	size_t offset;	  /* offset of the header in the bytes */
} RunRecord;

/*
 * Opens events for a process that has not executed the command yet; they begin with its execve().
 * Kernel code is sampled if the kernel permits that. Returns EXIT_OK; otherwise EXIT_PRIVILEGE or
 * EXIT_INTERNAL with *failure set.
 */
ExitCode run_events_open(pid_t pid, int64_t frequency, RunEvents **events, Failure *failure);
void run_events_close(RunEvents *events); /* accepts NULL */

/* Returns descriptors that are readable if a buffer is half full. */
size_t run_events_fds(const RunEvents *events, const int **fds);

/* Copies the records of all buffers. */
void run_events_read(RunEvents *events);

/* Sorts the records by time and returns their number. */
size_t run_events_sort(RunEvents *events, const RunRecord **records);

/* Returns a record, whose size is within the bytes that were read. */
const struct perf_event_header *run_events_record(const RunEvents *events, const RunRecord *record);

bool run_events_has_kernel(const RunEvents *events);
uint64_t run_events_lost(const RunEvents *events); /* records that found no room */
int64_t run_events_period_ns(const RunEvents *events);

#endif
