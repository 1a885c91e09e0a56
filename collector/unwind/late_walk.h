/*
 * late_walk.h
 *		The walk in user space: continues walks that the kernel could not finish, and replays
 *		recorded ones.
 *
 * The code of the walk is the kernel's (unwind.bpf.h), with the same tables. A process that has
 * just started is sampled before it is described. The kernel then hands over the registers and a
 * copy of the stack, and this walk is made when the process is described.
 */
#ifndef COLLECTOR_LATE_WALK_H
#define COLLECTOR_LATE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/code_pages.h"
#include "unwind/code_sightings.h"
#include "unwind/remote_memory.h"
#include "unwind/unwinder.h"

/* Reads 8 bytes of the process's memory. Returns 0, or non-zero if they are not available. */
typedef int (*LateRead)(void *context, uint64_t address, uint64_t *value);

/*
 * Memory that was copied when the sample was taken, in chunks of PFS_LATE_CHUNK_BYTES: the
 * available chunks of the first piece, followed by those of the second.
 */
typedef struct LateMemory
{
	const uint8_t *bytes;
	size_t length;
	uint64_t address;
	uint64_t chunks; /* bit i: chunk i from address on is available */
	uint64_t other_address;
	uint64_t other_chunks;
} LateMemory;

/* A LateRead whose context is a LateMemory. */
int late_memory_read(void *memory, uint64_t address, uint64_t *value);

/* The start of a walk, and the conditions under which it is made. */
typedef struct LateWalk
{
	const ExecImage *process;
	const struct pfs_walk_state *state;
	LateRead read;
	void *context;	/* context of read */
	bool trust_jit; /* rules of generated code were already valid at the time of the sample */
	uint64_t *ends; /* receives the stack pointer of each frame's caller; NULL: not needed */
	/* Virtual machine whose frames are on the stack; NULL: the stack has only machine code. */
	const struct pfs_runtime *runtime;
	RemoteMemory *memory;	  /* memory of the process; used only with runtime */
	CodePages *code;		  /* code pages of the process; used only with runtime */
	CodeSightings *sightings; /* compiled methods seen before; used only with runtime */
	uint64_t owner;			  /* of the process; charged for sightings */
	uint64_t time_ns;		  /* time of the sample (CLOCK_MONOTONIC); used only with runtime */
	/* number of classes that HotSpot had unloaded, or PFS_UNLOADED_UNKNOWN; used with runtime */
	uint64_t unloaded;
} LateWalk;

/*
 * Walks from the given state on. The walk ends before the first compiled method of HotSpot that was
 * not seen before the sample (PFS_WALK_STALE), because it may have replaced the sampled one. Notes
 * the methods that it finds, for later samples. Stores at most capacity frames in the form in which
 * the kernel records them, with PFS_FRAME_* bits. Returns their number; *status is an enum
 * pfs_walk_status.
 */
size_t late_walk(const Unwinder *unwinder, const LateWalk *from, uint64_t *frames, size_t capacity,
				 int *status);

#endif
