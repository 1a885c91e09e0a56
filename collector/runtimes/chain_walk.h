/*
 * chain_walk.h
 *		Follows an interpreter's chain from outside, for a thread that waits.
 *
 * The code is that of the kernel's walk (bpf/runtime.bpf.h). A thread that still waits at the end
 * of a window runs no BPF program, so its chain is read through the caller's function. The result
 * is valid only if the thread has not run in between.
 *
 * V8 has no chain. Its functions are found through the machine's frames, which have not been walked
 * at this point. So all slots of the stack that may be frames of functions are described
 * (PFS_MARKS_PLACES).
 */
#ifndef COLLECTOR_CHAIN_WALK_H
#define COLLECTOR_CHAIN_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"

/* Reads memory of the thread's process. Returns 0, or non-zero if some of it is unreadable. */
typedef int (*ChainRead)(void *context, uint64_t address, void *to, size_t bytes);

typedef struct ChainThread
{
	const struct pfs_runtime *runtime; /* interpreter of the thread's process */
	uint64_t thread_pointer;
	uint64_t sp;		   /* stack pointer of the machine's innermost frame */
	const uint64_t *stack; /* copy of the machine's stack, from sp on */
	size_t stack_words;
	ChainRead read;
	void *context; /* argument of read() */
} ChainThread;

/* Limit of the words that chain_walk() writes to a record. */
#define CHAIN_SECTION_WORDS (sizeof(struct pfs_chain) / sizeof(uint64_t) + PFS_CHAIN_KEPT_WORDS)

/*
 * Writes the section of a record (runtime_types.h) that holds the thread's chain, without ends of
 * frames. Returns its length in words, or 0 if out of memory. Takes up to PFS_MAX_SAMPLE_NS and a
 * few reads, each of which may wait.
 */
size_t chain_walk(const ChainThread *thread, uint64_t section[CHAIN_SECTION_WORDS]);

#endif
