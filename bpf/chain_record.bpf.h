/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chain_record.bpf.h
 *		Puts the chain of the current thread's interpreter into the record.
 */
#ifndef PFS_CHAIN_RECORD_BPF_H
#define PFS_CHAIN_RECORD_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "events.h"
#include "maps.bpf.h"
#include "user_stack.bpf.h"

#include "runtime.bpf.h"

/* Preallocated, like pfs_processes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PFS_RUNTIME_PROCESSES);
	__type(key, __u32);
	__type(value, struct pfs_runtime);
} pfs_runtimes SEC(".maps");

/*
 * Finds the interpreter of the sample's process; sets its kind to PFS_RUNTIME_NONE if there is
 * none.
 */
static __always_inline void
pfs_find_runtime(struct pfs_scratch *scratch)
{
	const struct pfs_sample *sample = &scratch->sample;
	__u32 pid = sample->pid;
	const struct pfs_runtime *runtime = bpf_map_lookup_elem(&pfs_runtimes, &pid);

	scratch->chain.runtime.kind = PFS_RUNTIME_NONE;
	/* a map entry may be that of an earlier process or image with this pid */
	if (runtime && runtime->start_time_ns == sample->start_time_ns &&
		runtime->exec_id == sample->exec_id)
		scratch->chain.runtime = *runtime;
}

/*
 * Appends the chain's section to a record that has words words after its head. Returns the number
 * of the section's words. This is a global function, so that the kernel verifies it once, however
 * many paths lead to it.
 */
__attribute__((noinline)) __u32
pfs_add_chain(__u32 slot, __u32 words)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	struct pfs_chain *head;
	__u64 thread_pointer;
	__u32 head_words;
	__u32 ends = 0;

	if (!scratch)
		return 0;
	barrier_var(words);
	if (words > PFS_FRAME_WORDS + PFS_LABEL_WORDS)
		return 0;
	chain = &scratch->chain;
	head = (struct pfs_chain *) &scratch->words[words];
	/* a walk that found no description of its process has not begun, and has noted no ends */
	if (scratch->sample.user_status != PFS_WALK_NO_PROCESS)
		ends = pfs_walk_kept(scratch->sample.user_count);
	thread_pointer = pfs_thread_pointer((struct task_struct *) bpf_get_current_task());
	barrier_var(ends);
	if (ends > PFS_MAX_USER_FRAMES)
		ends = PFS_MAX_USER_FRAMES;
	/* copies the ends: BPF has no memcpy() of variable length */
	if (bpf_probe_read_kernel(head + 1, ends * sizeof(__u32), chain->ends))
		ends = 0;
	/* ends take 4 bytes each; an odd number is padded to a whole word */
	head_words = sizeof(*head) / sizeof(__u64) + (ends + 1) / 2;
	pfs_walk_chain(scratch, thread_pointer, words + head_words);
	pfs_describe_chain(head, chain, thread_pointer);
	head->end_count = (__u16) ends;
	pfs_count(PFS_COUNTER_CHAINS);
	return head_words + pfs_chain_kept(chain->found);
}

#endif
