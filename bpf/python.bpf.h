/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * python.bpf.h
 *		Follows CPython's frames.
 */
#ifndef PFS_PYTHON_BPF_H
#define PFS_PYTHON_BPF_H

#include "chain.bpf.h"

/* Reads the check of a code object, which differs for another object at its address. */
static __always_inline __u64
pfs_read_python_check(struct pfs_chain_walk *chain, __u64 code)
{
	const struct pfs_python_layout *layout = &chain->runtime.python;
	__u64 hash = 0;
	__u64 name_hash;

	if (bpf_probe_read_user(chain->code, PFS_CODE_BLOCK_WORDS * sizeof(__u64),
							(void *) (code + layout->code_first)))
		return PFS_PYTHON_NO_CHECK;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < PFS_CODE_BLOCK_WORDS; i++)
		hash = pfs_hash_masked(hash, chain->code, layout->code_mask, i);
	/* the hash of the name distinguishes functions of equal size and line */
	if (layout->code_name)
	{
		if (pfs_read_user(chain->code[layout->code_name & 15] + layout->name_hash, &name_hash))
			return PFS_PYTHON_NO_CHECK;
		hash = pfs_hash_step(hash, name_hash);
	}
	return pfs_python_check(hash);
}

/* Words of a known code object. */
#define PFS_PYTHON_KNOWN_CHECK 0
#define PFS_PYTHON_KNOWN_COPY  1 /* number of the copy of bytecode whose address is known */
#define PFS_PYTHON_KNOWN_BEGIN 2 /* that address; 0: it could not be read */

#define PFS_PYTHON_COPIES_FIRST 8 /* in the list of copies: the first address */

static __always_inline struct pfs_known_object *
pfs_known_python_code(struct pfs_chain_walk *chain, __u64 code)
{
	__u64 key;
	struct pfs_known_object *known = pfs_known_object(chain, code, &key);

	if (known->key != key)
	{
		known->words[PFS_PYTHON_KNOWN_CHECK] = pfs_read_python_check(chain, code);
		known->words[PFS_PYTHON_KNOWN_COPY] = 0;
		known->key = key;
	}
	return known;
}

/*
 * Returns the instruction of a frame whose thread executes a copy of the bytecode, as it would be
 * in the code object's own. Without the copy's address it is one that has no line.
 */
static __always_inline __u64
pfs_python_own_instruction(const struct pfs_chain_walk *chain, __u64 code, __u64 instruction,
						   __u32 copy, struct pfs_known_object *known)
{
	const struct pfs_python_layout *layout = &chain->runtime.python;
	__u64 *begin = &known->words[PFS_PYTHON_KNOWN_BEGIN];
	__u64 copies;

	if (known->words[PFS_PYTHON_KNOWN_COPY] != copy)
	{
		known->words[PFS_PYTHON_KNOWN_COPY] = copy;
		*begin = 0;
		/* the list of copies begins with its length, then has one address for each copy */
		if (!pfs_read_user(code + 8 * (__u64) layout->code_copies, &copies))
			(void) pfs_read_user(copies + PFS_PYTHON_COPIES_FIRST + 8 * (__u64) copy, begin);
	}
	if (!*begin)
		/* an address before the code object, which is no instruction */
		return code - 2;
	return code + 8 * (__u64) layout->code_bytecode + (instruction - *begin);
}

/* Appends the frame that is in the block. */
static __always_inline void
pfs_put_python_frame(struct pfs_scratch *scratch, __u32 first, __u64 code)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const struct pfs_python_layout *layout = &chain->runtime.python;
	struct pfs_known_object *known = pfs_known_python_code(chain, code);
	__u64 index = chain->block[layout->frame_instruction & 15];
	__u32 copy = layout->frame_copy ? ((__u32 *) chain->block)[layout->frame_copy & 31] : 0;
	__u64 payload;

	if (copy)
		index = pfs_python_own_instruction(chain, code, index, copy, known);
	/*
	 * instructions have 2 bytes; they are counted from the code object on, whose bytecode begins
	 * later
	 */
	if (!layout->is_index)
		index = (index - code) >> 1;
	payload = (index & ((1ULL << PFS_PYTHON_INDEX_BITS) - 1)) << PFS_PYTHON_CHECK_BITS |
			  known->words[PFS_PYTHON_KNOWN_CHECK];
	pfs_chain_put_frame(scratch, first, code, 1);
	pfs_chain_put_more(scratch, first, payload);
}

/*
 * Ends a chain at an address that no object has. A frame of the innermost loop may have been read
 * before it was filled, and then none of the frames is the thread's.
 */
static __always_inline int
pfs_end_bad_python_chain(struct pfs_chain_walk *chain)
{
	return chain->mark_count ? pfs_chain_end(chain, PFS_CHAIN_BAD) : pfs_chain_drop(chain);
}

/* Reads the frame into the block. */
static __always_inline int
pfs_read_python_frame(struct pfs_chain_walk *chain)
{
	if (chain->runtime.python.wide_frames)
		return (int) bpf_probe_read_user(chain->block, PFS_FRAME_BLOCK_MOST_WORDS * sizeof(__u64),
										 (void *) chain->frame);
	return (int) pfs_read_beside(&chain->frames, chain->frame, PFS_FRAME_BLOCK_WORDS, 1,
								 chain->block);
}

/* more than the size of the loop's frame on the machine's stack, which is 400 bytes or so */
#define PFS_PYTHON_LOOP_BYTES 1024

/*
 * Continues with the record of a loop, and sets its innermost frame. Returns non-zero if the record
 * cannot be read.
 */
static __always_inline int
pfs_read_python_record(struct pfs_chain_walk *chain, __u64 record, __u64 *frame)
{
	__u64 words[2];

	if (bpf_probe_read_user(words, sizeof(words),
							(void *) (record + chain->runtime.python.record_frame)))
		return 1;
	chain->record = record;
	*frame = words[0];
	chain->caller_record = words[1];
	return 0;
}

/*
 * Continues with the record of the loop's caller, after the frames that the loop executes. Returns
 * non-zero if the chain has ended.
 *
 * A loop links its record, which lies on the stack, some instructions before it fills the record.
 * Meanwhile the record has words that an earlier call left there. The frame to which these lead as
 * the loop's caller is seldom the innermost one of the caller's record. Only the innermost record
 * can be half made.
 */
static __always_inline int
pfs_leave_python_record(struct pfs_chain_walk *chain)
{
	__u64 caller = 0;
	int is_lost = !pfs_is_object(chain->caller_record) ||
				  pfs_read_python_record(chain, chain->caller_record, &caller);

	if (chain->mark_count == 1 && (is_lost || caller != chain->frame))
		return pfs_chain_drop(chain);
	return is_lost ? pfs_chain_end(chain, PFS_CHAIN_UNREADABLE) : 0;
}

/*
 * Marks the end of the frames that one loop executes. A record lies on the stack, and so does a
 * shim, inside the frame of the loop, so its address is the mark. Returns non-zero if the chain has
 * ended.
 */
static __always_inline int
pfs_end_python_loop(struct pfs_scratch *scratch, __u32 first, __u64 shim)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	int is_entry = chain->runtime.marks == PFS_MARKS_ENTRY;

	pfs_chain_put_mark(scratch, first, is_entry ? chain->record : shim);
	/* shims lead to each other, so only the innermost record is examined */
	if (is_entry || (chain->runtime.python.has_record && chain->mark_count == 1))
		return pfs_leave_python_record(chain);
	return 0;
}

/*
 * Returns whether the frame in the block, which is not a shim, is half made.
 *
 * A generator becomes the innermost frame before it is linked to its caller, and is unlinked before
 * it is left. A shim is linked before it has its owner; it lies on the stack, where no function's
 * frame lies, in the frame of the loop that is the machine's innermost one meanwhile.
 */
static __always_inline int
pfs_is_half_made(const struct pfs_chain_walk *chain, __u64 frame, __u8 owner)
{
	if (chain->runtime.marks == PFS_MARKS_NONE)
		return 0;
	return (owner == chain->runtime.python.called && !chain->frame) ||
		   frame - chain->first_sp < PFS_PYTHON_LOOP_BYTES;
}

/*
 * Follows the chain by one frame. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_python_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	const struct pfs_python_layout *layout;
	struct pfs_chain_walk *chain;
	__u64 frame;
	__u64 code;
	__u8 owner;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	layout = &chain->runtime.python;
	frame = chain->frame;
	if (!frame)
		return pfs_chain_end(chain, PFS_CHAIN_WHOLE);
	if (!pfs_is_object(frame))
		return pfs_end_bad_python_chain(chain);
	if (pfs_read_python_frame(chain))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	/* masks keep the verifier's bounds: blocks have 16 words or 128 bytes */
	chain->frame = chain->block[layout->frame_previous & 15];
	/* the two lowest bits may be tags of the reference */
	code = chain->block[layout->frame_code & 15] & ~3ULL;
	owner = ((__u8 *) chain->block)[layout->frame_owner & 127];
	/*
	 * A shim frame has no code. It lies on the machine's stack in the frame of a loop, and ends the
	 * frames that this loop executes.
	 */
	if (chain->runtime.marks == PFS_MARKS_SHIM && owner >= layout->boundary)
		return owner == layout->boundary ? pfs_end_python_loop(scratch, first, frame) : 0;
	if (pfs_is_half_made(chain, frame, owner))
		return pfs_chain_drop(chain);
	if (!pfs_is_object(code))
		return pfs_end_bad_python_chain(chain);
	pfs_put_python_frame(scratch, first, code);
	/* the frame was entered from C code, so the next one belongs to another loop */
	if (chain->runtime.marks == PFS_MARKS_ENTRY && owner == layout->boundary)
		return pfs_end_python_loop(scratch, first, 0);
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

	if (pfs_read_state_word(runtime, thread_pointer, &state))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	if (!state)
		return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	if (!pfs_is_object(state))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_user(state + runtime->python.state_frame, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	/* otherwise the state leads to a record on the machine's stack, which leads to the frame */
	if (!runtime->python.has_record)
		return 0;
	if (!pfs_is_object(chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_python_record(chain, chain->frame, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	return 0;
}

#endif
