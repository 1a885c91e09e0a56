/*
 * late_walk.h
 *		The walker in user space: goes on with walks that the kernel could not end, and replays
 *		recorded ones.
 *
 * The code is the kernel's own (unwind.bpf.h) over the same tables. A process that has just started
 * is sampled before anything is known of it; the kernel then hands over registers and a copy of the
 * stack, and the walk is made as soon as the process is described.
 */
#ifndef COLLECTOR_LATE_WALK_H
#define COLLECTOR_LATE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/remote_memory.h"
#include "unwind/unwinder.h"

/* Reads 8 bytes of the process's memory: 0, or non-zero where they cannot be had. */
typedef int (*LateRead)(void *context, uint64_t address, uint64_t *value);

/*
 * Memory that was copied when the sample was taken, in chunks of PFS_LATE_CHUNK_BYTES: those that
 * are there, one behind the other, of the first piece, then of the second.
 */
typedef struct LateMemory
{
	const uint8_t *bytes;
	size_t length;
	uint64_t address;
	uint64_t chunks; /* bit i: chunk i behind the address is there */
	uint64_t other_address;
	uint64_t other_chunks;
} LateMemory;

/* A LateRead over a LateMemory. */
int late_memory_read(void *memory, uint64_t address, uint64_t *value);

/* Where a walk begins, and what it may believe. */
typedef struct LateWalk
{
	const ExecImage *process;
	const struct pfs_walk_state *state;
	LateRead read;
	void *context;	/* of read */
	bool trust_jit; /* generated code that there are rules for is still that of the sample */
	uint64_t *ends; /* takes the callers' stack pointers, as many as frames; NULL: not wanted */
	/*
	 * The virtual machine whose frames lie on the stack, and the process's memory, which tells more
	 * of its code. NULL: there is none.
	 */
	const struct pfs_runtime *runtime;
	RemoteMemory *code;
} LateWalk;

/*
 * Walks from the state on. frames takes up to capacity frames as the kernel records them, with
 * PFS_FRAME_* bits. Returns their number; *status is an enum pfs_walk_status.
 */
size_t late_walk(const Unwinder *unwinder, const LateWalk *from, uint64_t *frames, size_t capacity,
				 int *status);

#endif
