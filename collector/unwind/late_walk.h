/*
 * late_walk.h
 *		The walk in user space: continues walks that the kernel could not finish, and replays
 *		recorded ones.
 *
 * The code is that of the kernel's walk (unwind.bpf.h), with the same tables. A process that has
 * just started is sampled before it is described; the kernel then hands over registers and a copy
 * of the stack, and the walk is made when the process is described.
 */
#ifndef COLLECTOR_LATE_WALK_H
#define COLLECTOR_LATE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/code_pages.h"
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

/* A LateRead over a LateMemory. */
int late_memory_read(void *memory, uint64_t address, uint64_t *value);

/* Start of a walk, and its conditions. */
typedef struct LateWalk
{
	const ExecImage *process;
	const struct pfs_walk_state *state;
	LateRead read;
	void *context;	/* context of read */
	bool trust_jit; /* rules of generated code are valid for the time of the sample */
	uint64_t *ends; /* receives the callers' stack pointers, one for each frame; NULL: not needed */
	/* The virtual machine whose frames lie on the stack; NULL: there is none. */
	const struct pfs_runtime *runtime;
	RemoteMemory *memory; /* of the process, with … */
	CodePages *code;	  /* … its code's pages, if there is one */
} LateWalk;

/*
 * Walks from the state on. Stores at most capacity frames as the kernel records them, with
 * PFS_FRAME_* bits. Returns their number; *status is an enum pfs_walk_status.
 */
size_t late_walk(const Unwinder *unwinder, const LateWalk *from, uint64_t *frames, size_t capacity,
				 int *status);

#endif
