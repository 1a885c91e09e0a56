/*
 * chain_walk.c
 *		The surroundings of runtime.bpf.h in user space.
 */
#include "runtimes/chain_walk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* As libbpf's headers define them. */
#undef __always_inline
#define __always_inline		  inline __attribute__((always_inline))
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

#include "scratch.h"

/* The walk that is running: the walk's functions take no context, as in BPF. */
static _Thread_local struct
{
	const ChainThread *thread;
	struct pfs_scratch *scratch;
} current;

static struct pfs_scratch *
pfs_get_scratch(__u32 slot)
{
	(void) slot; /* each walk has a scratch of its own */
	return current.scratch;
}

static long
bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	return current.thread->read(current.thread->context, (uint64_t) (uintptr_t) from, to, size);
}

static int
pfs_read_user(__u64 address, __u64 *value)
{
	return current.thread->read(current.thread->context, address, value, sizeof(*value));
}

static __u64
bpf_ktime_get_ns(void)
{
	return (__u64) clock_ns(CLOCK_MONOTONIC);
}

/* Hints for the verifier, and functions that it verifies once: no other file here calls them. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "runtime.bpf.h"

size_t
chain_walk(const ChainThread *thread, uint64_t section[CHAIN_SECTION_WORDS])
{
	const uint32_t head_words = sizeof(struct pfs_chain) / sizeof(uint64_t);
	struct pfs_scratch *scratch = calloc(1, sizeof(*scratch));
	size_t words;

	if (scratch == NULL)
		return 0;
	current.thread = thread;
	current.scratch = scratch;
	scratch->sample.time_ns = bpf_ktime_get_ns();
	scratch->chain.runtime = *thread->runtime;
	scratch->chain.first_sp = thread->sp;
	pfs_walk_chain(scratch, thread->thread_pointer, head_words);
	pfs_describe_chain((struct pfs_chain *) scratch->words, &scratch->chain,
					   thread->thread_pointer);
	words = head_words + pfs_chain_kept(scratch->chain.found);
	memcpy(section, scratch->words, words * sizeof(*section));
	free(scratch);
	return words;
}
