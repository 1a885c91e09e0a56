/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * runtime.bpf.h
 *		Follows the frames that an interpreter has linked for the current thread.
 *
 * A chain ends after PFS_CHAIN_MAX_FRAMES frames, after PFS_MAX_SAMPLE_NS, or at memory that cannot
 * be read. The frames that were found until then are kept.
 */
#ifndef PFS_RUNTIME_BPF_H
#define PFS_RUNTIME_BPF_H

#include "chain.bpf.h"
#include "python.bpf.h"

/* Finds the interpreter of the sample's process. Its kind is PFS_RUNTIME_NONE if it has none. */
static __always_inline void
pfs_find_runtime(struct pfs_scratch *scratch)
{
	const struct pfs_sample *sample = &scratch->sample;
	__u32 pid = sample->pid;
	const struct pfs_runtime *runtime = bpf_map_lookup_elem(&pfs_runtimes, &pid);

	scratch->chain.runtime.kind = PFS_RUNTIME_NONE;
	if (runtime && runtime->start_time_ns == sample->start_time_ns &&
		runtime->exec_id == sample->exec_id)
		scratch->chain.runtime = *runtime;
}

/* Finds the thread's innermost frame. Returns non-zero if it has none, for the reason in status. */
static __always_inline int
pfs_begin_chain(struct pfs_chain_walk *chain, __u64 thread_pointer)
{
	if (!chain->runtime.is_placed)
		return pfs_chain_end(chain, PFS_CHAIN_NO_PLACE);
	switch (chain->runtime.kind)
	{
		case PFS_RUNTIME_PYTHON:
			return pfs_begin_python_chain(chain, thread_pointer);
		default:
			return pfs_chain_end(chain, PFS_CHAIN_NO_PLACE);
	}
}

/* Follows the chain by PFS_CHAIN_STEPS frames. Returns non-zero if it has ended. */
static __always_inline int
pfs_chain_steps(const struct pfs_scratch *scratch, __u32 first)
{
	switch (scratch->chain.runtime.kind)
	{
		case PFS_RUNTIME_PYTHON:
			return pfs_python_steps(scratch->slot, first);
		default:
			return 1;
	}
}

static __always_inline void
pfs_walk_chain(struct pfs_scratch *scratch, __u64 thread_pointer, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	if (pfs_begin_chain(chain, thread_pointer))
		return;
	for (int i = 0; i < PFS_CHAIN_MAX_FRAMES / PFS_CHAIN_STEPS; i++)
	{
		if (pfs_chain_steps(scratch, first))
			return;
		if (bpf_ktime_get_ns() - scratch->sample.time_ns > PFS_MAX_SAMPLE_NS)
		{
			chain->status = PFS_CHAIN_OUT_OF_TIME;
			return;
		}
	}
	chain->status = PFS_CHAIN_TOO_DEEP;
}

/*
 * Appends the chain's section to a record that has words words behind its head. Returns how many
 * words the section takes. This is a global function, so that the kernel verifies it once, however
 * many paths lead to it.
 */
__attribute__((noinline)) __u32
pfs_add_chain(__u32 slot, __u32 words)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	struct pfs_chain *head;
	__u32 head_words;
	__u32 ends = 0;

	if (!scratch)
		return 0;
	barrier_var(words);
	if (words > PFS_FRAME_WORDS + PFS_LABEL_WORDS)
		return 0;
	chain = &scratch->chain;
	head = (struct pfs_chain *) &scratch->words[words];
	if (scratch->sample.user_status != PFS_WALK_NO_PROCESS)
		ends = pfs_walk_kept(scratch->sample.user_count);
	head->thread_pointer = pfs_thread_pointer((struct task_struct *) bpf_get_current_task());
	head->first_sp = chain->first_sp;
	chain->found = 0;
	chain->mark_count = 0;
	chain->status = PFS_CHAIN_RUNNING;
	barrier_var(ends);
	if (ends > PFS_MAX_USER_FRAMES)
		ends = PFS_MAX_USER_FRAMES;
	if (bpf_probe_read_kernel(head + 1, ends * sizeof(__u32), chain->ends))
		ends = 0;
	head_words = sizeof(*head) / sizeof(__u64) + (ends + 1) / 2;
	pfs_walk_chain(scratch, head->thread_pointer, words + head_words);
	head->found = chain->found;
	head->mark_count = chain->mark_count;
	head->end_count = (__u16) ends;
	head->kind = chain->runtime.kind;
	head->status = chain->status;
	head->marks = chain->runtime.marks;
	pfs_count(PFS_COUNTER_CHAINS);
	return head_words + pfs_chain_kept(chain->found);
}

#endif
