/*
 * sideband.h
 *		Reports forks, execs and mappings of all processes, from perf records that the kernel writes
 *		as they happen.
 *
 * There is one buffer for each CPU; they are merged by time. This is the only source about
 * processes that exit before we read /proc. Not thread-safe: the owner has a lock.
 */
#ifndef COLLECTOR_SIDEBAND_H
#define COLLECTOR_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "process/proc_file.h"

typedef struct Sideband Sideband;

typedef enum SidebandKind
{
	SIDEBAND_FORK, /* fork of a process, not of a thread */
	SIDEBAND_THREAD,
	SIDEBAND_EXIT,		  /* exit of any thread, including the first */
	SIDEBAND_EXEC,		  /* a new image begins, without mappings */
	SIDEBAND_MAP,		  /* executable memory; the kernel does not report munmap() */
	SIDEBAND_KERNEL_CODE, /* the kernel loaded or unloaded a BPF program or a trampoline */
	SIDEBAND_LOST,		  /* a buffer was full or a CPU was not observed: events are missing */
} SidebandKind;

typedef struct SidebandEvent
{
	SidebandKind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t parent_pid; /* pid of the parent, in SIDEBAND_FORK only */
	uint64_t lost;		 /* number of lost records, in SIDEBAND_LOST only; 0 if not known */
	ProcMapping map;	 /* mapping, in SIDEBAND_MAP only; its name is valid during the call */
} SidebandEvent;

typedef void (*SidebandHandler)(void *context, const SidebandEvent *event);

/*
 * Opens a buffer for each CPU: of 128 KiB, or less if the buffers of all possible CPUs would exceed
 * limit_bytes, at least 16 KiB. Returns 0, or -errno if a CPU cannot be observed.
 */
int sideband_create(size_t limit_bytes, SidebandHandler handler, void *context,
					Sideband **sideband);
size_t sideband_buffer_bytes(size_t limit_bytes, uint32_t cpus);

/* Returns the kernel memory of the buffers. */
size_t sideband_bytes(const Sideband *sideband);
void sideband_free(Sideband *sideband); /* accepts NULL */

/*
 * Follows CPUs that have come online, even if they were offline for a moment only. Call it about
 * once a second. For the events missed meanwhile, SIDEBAND_LOST is reported.
 */
void sideband_follow_cpus(Sideband *sideband);

/*
 * Waits until half a buffer has filled since the last call, the descriptor "other" is readable, or
 * the timeout has passed. sideband may be NULL. One thread at a time, without the owner's lock.
 */
void sideband_wait(const Sideband *sideband, int other, int timeout_ms);

/* Passes all events up to now to the handler, oldest first. */
void sideband_read(Sideband *sideband);

#endif
