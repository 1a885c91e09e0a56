/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * v8.bpf.h
 *		Finds the functions of V8's frames, which the walk of the machine's stack has found.
 *
 * A frame is V8's if its caller was found by frame pointer and its slots lead to a function of a
 * script. Frames of V8's own code have a marker in the place of the context, or a function without
 * a script, and stay as they are.
 */
#ifndef PFS_V8_BPF_H
#define PFS_V8_BPF_H

#include "chain.bpf.h"

/* Returns the frame pointer of a frame; 0 if the walk did not use it. */
static __always_inline __u64
pfs_v8_frame_pointer(struct pfs_scratch *scratch, __u32 number)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u32 caller = scratch->sample.kernel_count + pfs_walk_place(number + 1);
	__u32 place = pfs_walk_place(number);

	barrier_var(caller);
	if (caller >= PFS_FRAME_WORDS || !(scratch->words[caller] & PFS_FRAME_BY_FRAME_POINTER))
		return 0;
	barrier_var(place);
	if (place >= PFS_MAX_USER_FRAMES || chain->ends[place] == PFS_END_UNKNOWN)
		return 0;
	/* a step by frame pointer ends the frame after the return address */
	return chain->first_sp + 8 * (__u64) chain->ends[place] - 16;
}

/* Reads the function's SharedFunctionInfo into the block "code". Returns its address, or 0. */
static __always_inline __u64
pfs_v8_read_shared(struct pfs_chain_walk *chain, __u64 function)
{
	__u64 shared;

	if (!PFS_V8_IS_OBJECT(function) || !pfs_is_object(PFS_V8_OBJECT(function)) ||
		pfs_read_user(PFS_V8_OBJECT(function) + chain->runtime.v8.function_shared, &shared) ||
		!PFS_V8_IS_OBJECT(shared) || !pfs_is_object(PFS_V8_OBJECT(shared)) ||
		bpf_probe_read_user(chain->code, PFS_V8_SHARED_WORDS * sizeof(__u64),
							(void *) PFS_V8_OBJECT(shared)))
		return 0;
	return PFS_V8_OBJECT(shared);
}

/* Reads the id of a script. Returns 1 if the object is not a script. */
static __always_inline __u64
pfs_v8_read_script(const struct pfs_v8_layout *layout, __u64 script, __u64 *id)
{
	__u16 type = 0;
	__u64 map;

	if (pfs_read_user(script, &map) || !PFS_V8_IS_OBJECT(map) ||
		bpf_probe_read_user(&type, sizeof(type),
							(void *) (PFS_V8_OBJECT(map) + layout->map_type)) ||
		type != layout->script_type)
		return 1;
	return pfs_read_user(script + 8 * (__u64) layout->script_id, id) != 0;
}

/*
 * Finds the id of a script, which most functions of a stack share. Returns non-zero if the object
 * is not a script.
 */
static __always_inline __u64
pfs_v8_script(struct pfs_chain_walk *chain, __u64 script, __u64 *id)
{
	struct pfs_known_object *known;
	__u64 key;

	if (!PFS_V8_IS_OBJECT(script) || !pfs_is_object(PFS_V8_OBJECT(script)))
		return 1;
	/* functions are known by tagged addresses, which are odd, so none has a script's address */
	known = pfs_known_object(chain, PFS_V8_OBJECT(script), &key);
	if (known->key != key)
	{
		known->words[1] = 0;
		known->words[0] =
			pfs_v8_read_script(&chain->runtime.v8, PFS_V8_OBJECT(script), &known->words[1]);
		known->key = key;
	}
	*id = known->words[1];
	return known->words[0];
}

/*
 * Reads the check of a function's SharedFunctionInfo. Returns the address of the
 * SharedFunctionInfo; 0 if the object is not a function of a script.
 */
static __always_inline __u64
pfs_read_v8_function(struct pfs_chain_walk *chain, __u64 function, __u64 *check)
{
	const struct pfs_v8_layout *layout = &chain->runtime.v8;
	__u64 shared = pfs_v8_read_shared(chain, function);
	__u64 id;

	if (!shared || pfs_v8_script(chain, chain->code[layout->shared_script & 7], &id))
		return 0;
	*check = pfs_v8_check(id, chain->code[layout->shared_name & 7],
						  chain->code[layout->shared_length & 7]);
	return shared;
}

/*
 * Returns the return address of the innermost code, on the assumption that it has no frame of its
 * own. Returns 0 if the address cannot be read.
 */
static __always_inline __u64
pfs_v8_return_address(const struct pfs_chain_walk *chain, __u64 fp)
{
#ifdef PFS_ARM64
	(void) fp;
	return chain->leaf_link;
#else
	__u64 word;

	if (pfs_read_user(chain->first_sp, &word))
		return 0;
	/* code that is about to make its frame has pushed the caller's frame pointer */
	if (word == fp && pfs_read_user(chain->first_sp + sizeof(word), &word))
		return 0;
	return word;
#endif
}

/*
 * Clears the slots of the innermost frame that lie below the stack pointer. While a function is
 * being entered, these slots contain the frame of an earlier call.
 */
static __always_inline void
pfs_v8_clear_unset_slots(struct pfs_chain_walk *chain, __u64 fp)
{
	for (int i = 0; i < PFS_V8_SLOT_WORDS; i++)
	{
		if (fp - (PFS_V8_SLOT_WORDS - i) * sizeof(__u64) < chain->first_sp)
			chain->block[i] = 0;
	}
}

/*
 * Appends the words about the frame at a frame pointer if it belongs to a script's function.
 * return_address: that of the code that runs, if the frame may be its caller's; otherwise 0.
 */
static __always_inline void
pfs_put_v8_frame(struct pfs_scratch *scratch, __u32 first, __u64 fp, __u32 number,
				 __u64 return_address)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const struct pfs_v8_layout *layout = &chain->runtime.v8;
	__u64 offset = PFS_V8_NO_OFFSET;
	struct pfs_known_object *known;
	__u64 bytecodes;
	__u64 word;
	__u64 key;

	if (pfs_read_beside(&chain->frames, fp - PFS_V8_SLOT_WORDS * sizeof(__u64), PFS_V8_SLOT_WORDS,
						0, chain->block))
		return;
	if (number == 0)
		pfs_v8_clear_unset_slots(chain, fp);
	/* a small integer in the place of the context marks a frame of V8's own code */
	if (!PFS_V8_IS_OBJECT(chain->block[layout->slot_context & 7]))
		return;
	word = chain->block[layout->slot_function & 7];
	known = pfs_known_object(chain, word, &key);
	if (known->key != key)
	{
		known->words[0] = pfs_read_v8_function(chain, word, &known->words[1]);
		known->key = key;
	}
	if (!known->words[0])
		return;
	word = chain->block[layout->slot_offset & 7];
	if (PFS_V8_IS_SMALL(word) && word >> 32 < PFS_V8_NO_OFFSET)
		offset = word >> 32;
	bytecodes = chain->block[layout->slot_bytecodes & 7];
	if (!PFS_V8_IS_OBJECT(bytecodes) || !pfs_is_object(PFS_V8_OBJECT(bytecodes)))
		bytecodes = 1;
	pfs_chain_put_frame(scratch, first, known->words[0], return_address ? 3 : 2);
	pfs_chain_put_more(scratch, first, offset << PFS_V8_CHECK_BITS | known->words[1]);
	pfs_chain_put_more(scratch, first,
					   (__u64) number << PFS_V8_BYTECODES_BITS | PFS_V8_OBJECT(bytecodes) >> 3);
	if (return_address)
		pfs_chain_put_more(scratch, first, PFS_FRAME_ADDRESS(return_address));
}

/* Returns the number of the frame after this one that is kept. */
static __always_inline __u32
pfs_v8_next_number(__u32 number, __u32 count)
{
	number++;
	if (number == PFS_LEAF_FRAMES && count > PFS_MAX_USER_FRAMES)
		return count - PFS_ROOT_FRAMES;
	return number;
}

/*
 * Describes the next one of the machine's frames. Returns non-zero after the last one. This is a
 * global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_v8_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	__u32 number;
	__u32 count;
	__u64 fp;

	if (!scratch)
		return 1;
	number = (__u32) scratch->chain.frame;
	count = scratch->sample.user_count;
	if (number + 1 >= count)
		return pfs_chain_end(&scratch->chain, PFS_CHAIN_WHOLE);
	scratch->chain.frame = pfs_v8_next_number(number, count);
	/* the caller of the frame before a gap is not in the record */
	if (scratch->chain.frame != number + 1)
		return 0;
	fp = pfs_v8_frame_pointer(scratch, number);
	if (fp)
		pfs_put_v8_frame(scratch, first, fp, number,
						 number == 0 ? pfs_v8_return_address(&scratch->chain, fp) : 0);
	return 0;
}

__attribute__((noinline)) int
pfs_v8_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_v8_step(slot, first))
			return 1;
	}
	return 0;
}

static __always_inline int
pfs_begin_v8_chain(struct pfs_chain_walk *chain)
{
	chain->frame = 0; /* number of the next of the machine's frames */
	return 0;
}

#endif
