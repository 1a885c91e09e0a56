/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * runtime.bpf.h
 *		Follows the frames that an interpreter has linked for the current thread.
 *
 * The process controls every byte that is read here. So addresses are checked, and a chain ends
 * after PFS_CHAIN_MAX_FRAMES frames, after PFS_MAX_SAMPLE_NS, or at memory that cannot be read. The
 * frames that were found until then are kept.
 */
#ifndef PFS_RUNTIME_BPF_H
#define PFS_RUNTIME_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "events.h"
#include "maps.bpf.h"
#include "runtime_types.h"
#include "user_stack.bpf.h"

#define PFS_CHAIN_STEPS 64 /* between two looks at the clock */

#define PFS_LOWEST_ADDRESS	(1ULL << 16)
#define PFS_HIGHEST_ADDRESS (1ULL << 48)

/* Preallocated, as pfs_processes is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PFS_RUNTIME_PROCESSES);
	__type(key, __u32);
	__type(value, struct pfs_runtime);
} pfs_runtimes SEC(".maps");

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

static __always_inline int
pfs_is_object(__u64 address)
{
	return address >= PFS_LOWEST_ADDRESS && address < PFS_HIGHEST_ADDRESS && !(address & 7);
}

static __always_inline int
pfs_chain_end(struct pfs_chain_walk *chain, enum pfs_chain_status status)
{
	chain->status = (__u8) status;
	return 1;
}

/* Appends a word. first is the place of the chain's first word. */
static __always_inline void
pfs_chain_put(struct pfs_scratch *scratch, __u32 first, __u64 word)
{
	__u32 at = first + pfs_chain_place(scratch->chain.found);

	scratch->chain.found++;
	barrier_var(at);
	if (at < PFS_RECORD_WORDS)
		scratch->words[at] = word;
}

static __always_inline void
pfs_chain_put_mark(struct pfs_scratch *scratch, __u32 first, __u64 address)
{
	scratch->chain.mark_count++;
	pfs_chain_put(scratch, first, PFS_FRAME_ADDRESS(address));
}

/* Returns the check of a code object, by which another object at its address is recognized. */
static __always_inline __u64
pfs_check_of_code(struct pfs_chain_walk *chain, __u64 code)
{
	const struct pfs_runtime *runtime = &chain->runtime;
	__u64 hash = 0;
	__u64 name_hash;

	if (bpf_probe_read_user(chain->code, PFS_CODE_BLOCK_WORDS * sizeof(__u64),
							(void *) (code + runtime->code_first)))
		return PFS_PYTHON_NO_CHECK;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < PFS_CODE_BLOCK_WORDS; i++)
		hash = pfs_hash_masked(hash, chain->code, runtime->code_mask, i);
	if (runtime->code_name)
	{
		if (pfs_read_user(chain->code[runtime->code_name & 15] + runtime->name_hash, &name_hash))
			return PFS_PYTHON_NO_CHECK;
		hash = pfs_hash_step(hash, name_hash);
	}
	return pfs_python_check(hash);
}

/* Appends the frame that the block holds. */
static __always_inline void
pfs_put_python_frame(struct pfs_scratch *scratch, __u32 first, __u64 code)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 index = chain->block[chain->runtime.frame_instruction & 15];
	__u64 payload;

	if (!chain->runtime.is_index)
		index = (index - code) >> 1;
	payload = (index & ((1ULL << PFS_PYTHON_INDEX_BITS) - 1)) << PFS_PYTHON_CHECK_BITS |
			  pfs_check_of_code(chain, code);
	pfs_chain_put(scratch, first,
				  PFS_FRAME_ADDRESS(code) | 1ULL << 60 | (__u64) PFS_RUNTIME_PYTHON << 56);
	pfs_chain_put(scratch, first, 15ULL << 60 | payload);
}

/* Reads the frame into the block. */
static __always_inline int
pfs_read_python_frame(struct pfs_chain_walk *chain)
{
	if (chain->runtime.wide_frames)
		return (int) bpf_probe_read_user(chain->block, PFS_FRAME_BLOCK_MOST_WORDS * sizeof(__u64),
										 (void *) chain->frame);
	return (int) bpf_probe_read_user(chain->block, PFS_FRAME_BLOCK_WORDS * sizeof(__u64),
									 (void *) chain->frame);
}

/*
 * Marks the end of one loop's frames, and goes on to the record of the loop's caller. A record lies
 * on the stack, inside the frame of its loop, so its address is the mark. Returns non-zero if the
 * next record cannot be read.
 */
static __always_inline int
pfs_leave_python_record(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	pfs_chain_put_mark(scratch, first, chain->record);
	return pfs_read_user(chain->record + chain->runtime.record_previous, &chain->record);
}

/*
 * Follows the chain by one frame. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_python_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	__u64 frame;
	__u64 code;
	__u8 owner;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	frame = chain->frame;
	if (!frame)
		return pfs_chain_end(chain, PFS_CHAIN_WHOLE);
	if (!pfs_is_object(frame))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_python_frame(chain))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	chain->frame = chain->block[chain->runtime.frame_previous & 15];
	code = chain->block[chain->runtime.frame_code & 15] & ~3ULL;
	owner = ((__u8 *) chain->block)[chain->runtime.frame_owner & 127];
	if (chain->runtime.marks == PFS_MARKS_SHIM && owner >= chain->runtime.boundary)
	{
		if (owner == chain->runtime.boundary)
			pfs_chain_put_mark(scratch, first, frame);
		return 0;
	}
	if (!pfs_is_object(code))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	pfs_put_python_frame(scratch, first, code);
	if (chain->runtime.marks == PFS_MARKS_ENTRY && owner == chain->runtime.boundary &&
		pfs_leave_python_record(scratch, first))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	return 0;
}

__attribute__((noinline)) int
pfs_python_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_python_step(slot, first))
			return 1;
	}
	return 0;
}

/* Finds the thread's innermost frame. Returns non-zero if it has none, for the reason in status. */
static __always_inline int
pfs_begin_python_chain(struct pfs_chain_walk *chain, __u64 thread_pointer)
{
	const struct pfs_runtime *runtime = &chain->runtime;
	__u64 state;

	if (!runtime->is_placed)
		return pfs_chain_end(chain, PFS_CHAIN_NO_PLACE);
	if (pfs_read_user(thread_pointer + (__u64) (__s64) runtime->state_offset, &state))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	if (!state)
		return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	if (!pfs_is_object(state))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_user(state + runtime->state_frame, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	chain->record = chain->frame;
	if (!runtime->has_record)
		return 0;
	if (!pfs_is_object(chain->record))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_user(chain->record + runtime->record_frame, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	return 0;
}

static __always_inline void
pfs_walk_python(struct pfs_scratch *scratch, __u64 thread_pointer, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	if (pfs_begin_python_chain(chain, thread_pointer))
		return;
	for (int i = 0; i < PFS_CHAIN_MAX_FRAMES / PFS_CHAIN_STEPS; i++)
	{
		if (pfs_python_steps(scratch->slot, first))
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
	pfs_walk_python(scratch, head->thread_pointer, words + head_words);
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
