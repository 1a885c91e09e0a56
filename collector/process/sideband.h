/*
 * sideband.h
 *		What processes execute and map, as the kernel tells it while it happens: perf's records
 *		beside samples.
 *
 * One buffer per CPU, read in order of time. It is the only witness of processes that are gone
 * before anybody looks into /proc. Not thread-safe: its owner has a lock.
 */
#ifndef COLLECTOR_SIDEBAND_H
#define COLLECTOR_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "process/proc_file.h"

typedef struct Sideband Sideband;

typedef enum SidebandKind
{
	SIDEBAND_FORK, /* of a process; threads are none */
	SIDEBAND_THREAD,
	SIDEBAND_EXIT,		  /* of a thread, the first one or another */
	SIDEBAND_EXEC,		  /* a new image begins, without mappings */
	SIDEBAND_MAP,		  /* executable memory; that it is unmapped is not told */
	SIDEBAND_KERNEL_CODE, /* a BPF program or a trampoline came or went */
	SIDEBAND_LOST, /* a buffer was full, or a CPU was not listened to: anything may have happened */
} SidebandKind;

typedef struct SidebandEvent
{
	SidebandKind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid;
	uint32_t parent_pid; /* SIDEBAND_FORK */
	uint64_t lost;		 /* SIDEBAND_LOST: records, 0 where nobody can tell */
	ProcMapping map;	 /* SIDEBAND_MAP; its name lives as long as the call */
} SidebandEvent;

typedef void (*SidebandHandler)(void *context, const SidebandEvent *event);

/*
 * Each CPU's buffer is 128 KiB, less where those of all possible CPUs would take more than
 * limit_bytes, 16 KiB at least. -errno where not even one CPU can be listened to.
 */
int sideband_create(size_t limit_bytes, SidebandHandler handler, void *context,
					Sideband **sideband);
size_t sideband_buffer_bytes(size_t limit_bytes, uint32_t cpus);

/* Of the kernel's memory, for buffers. */
size_t sideband_bytes(const Sideband *sideband);
void sideband_free(Sideband *sideband); /* accepts NULL */

/*
 * Listens to the CPUs that are online now, also to those that were away for a moment. Call about
 * once a second: what happens on a CPU meanwhile is SIDEBAND_LOST.
 */
void sideband_follow_cpus(Sideband *sideband);

/*
 * Waits until half a buffer was told since the last time, the other descriptor is readable, or the
 * time is over. Without a side-band (NULL) it waits for the latter two. One thread at a time,
 * without the owner's lock.
 */
void sideband_wait(const Sideband *sideband, int other, int timeout_ms);

/* Hands over all that was told up to now, oldest first. */
void sideband_read(Sideband *sideband);

#endif
