/*
 * chain_walk.c
 *		Defines for user space the functions that runtime.bpf.h expects of its includer.
 */
#include "runtimes/chain_walk.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* libbpf's headers define these macros in the same way. */
#undef __always_inline
#define __always_inline		  inline __attribute__((always_inline))
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

#include "scratch.h"

/* The current walk. The walk's functions have no context argument, as in BPF. */
static _Thread_local struct
{
	const ChainThread *thread;
	struct pfs_scratch *scratch;
} current;

static struct pfs_scratch *
pfs_get_scratch(__u32 slot)
{
	(void) slot; /* each walk has its own scratch */
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

/*
 * Returns whether a slot of the stack may belong to a frame of a V8 function: the caller's frame
 * lies above it, and the slots of function and context contain objects.
 */
static bool
may_be_v8_frame(const ChainThread *thread, size_t place)
{
	const struct pfs_v8_layout *layout = &thread->runtime->v8;
	const uint64_t *slots = thread->stack + place - PFS_V8_SLOT_WORDS;
	uint64_t caller = thread->stack[place];

	return caller > thread->sp + 8 * place && (caller & 7) == 0 && thread->stack[place + 1] != 0 &&
		   PFS_V8_IS_OBJECT(slots[layout->slot_context & 7]) &&
		   PFS_V8_IS_OBJECT(slots[layout->slot_function & 7]);
}

/* Describes the slots of a stack that may be frames of V8 functions, innermost first. */
static void
walk_v8_stack(const ChainThread *thread, struct pfs_scratch *scratch, uint32_t first)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	chain->runtime.marks = PFS_MARKS_PLACES;
	chain->found = 0;
	chain->mark_count = 0;
	pfs_forget_memory(chain);
	for (size_t place = PFS_V8_SLOT_WORDS; place + 1 < thread->stack_words && place < PFS_V8_PLACES;
		 place++)
	{
		if (!may_be_v8_frame(thread, place))
			continue;
		if (bpf_ktime_get_ns() - scratch->sample.time_ns > PFS_MAX_SAMPLE_NS)
		{
			chain->status = PFS_CHAIN_OUT_OF_TIME;
			return;
		}
		pfs_put_v8_frame(scratch, first, thread->sp + 8 * place, (uint32_t) place, 0);
	}
	chain->status = PFS_CHAIN_WHOLE;
}

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
	if (thread->runtime->kind == PFS_RUNTIME_V8)
		walk_v8_stack(thread, scratch, head_words);
	else
		pfs_walk_chain(scratch, thread->thread_pointer, head_words);
	pfs_describe_chain((struct pfs_chain *) scratch->words, &scratch->chain,
					   thread->thread_pointer);
	words = head_words + pfs_chain_kept(scratch->chain.found);
	memcpy(section, scratch->words, words * sizeof(*section));
	free(scratch);
	return words;
}
