/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * php.bpf.h
 *		Follows PHP's frames.
 */
#ifndef PFS_PHP_BPF_H
#define PFS_PHP_BPF_H

#include "chain.bpf.h"
#include "php_frame.h"

/* Words of a frame (zend_execute_data). */
#define PFS_PHP_FRAME_INSTRUCTION 0 /* the last saved instruction */
#define PFS_PHP_FRAME_FUNCTION	  3
#define PFS_PHP_FRAME_FLAGS		  5 /* in the lower half */
#define PFS_PHP_FRAME_PREVIOUS	  6
#define PFS_PHP_FRAME_WORDS		  7

#define PFS_PHP_FLAG_CODE	   (1U << 16) /* the code of a file or of an eval(), not a function */
#define PFS_PHP_FLAG_TOP	   (1U << 17) /* entered from C code */
#define PFS_PHP_FLAG_GENERATOR (1U << 24)

#define PFS_PHP_INSTRUCTION_BYTES 32
#define PFS_PHP_INSTRUCTION_LINE  24

/* The loop keeps its frame and its instruction in registers. */
#ifdef PFS_ARM64
#define PFS_PHP_FRAME_REGISTER		 27
#define PFS_PHP_INSTRUCTION_REGISTER 28
#else
#define PFS_PHP_FRAME_REGISTER		 14
#define PFS_PHP_INSTRUCTION_REGISTER 15
#endif

/*
 * Returns the instruction in the registers of the sampled thread if they belong to the frame,
 * otherwise 0. The loop saves the instruction only before calls that may fail. Its handlers, some
 * of which are functions of their own, keep frame and instruction in the loop's registers. Compiled
 * code, and functions that it calls, need not have the instruction there.
 */
static __always_inline __u64
pfs_php_register_instruction(struct pfs_scratch *scratch, __u64 frame)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const struct pfs_php_layout *layout = &chain->runtime.php;
	const __u64 *registers = scratch->walk.at.registers;
	__u64 pc = registers[PFS_REGISTER_PC];
	int is_innermost = chain->record != 0;

	chain->record = 0;
	if (is_innermost && registers[PFS_PHP_FRAME_REGISTER] == frame &&
		(!layout->compiled_end || (pc >= layout->loop_start && pc < layout->loop_end)))
		return registers[PFS_PHP_INSTRUCTION_REGISTER];
	return 0;
}

/*
 * Words that describe a function: its check, its instructions, a word of three numbers, and the
 * line of the instruction that was looked up last, with the instruction's number, counted from 1,
 * in the upper half.
 */
#define PFS_PHP_KNOWN_CHECK		   0
#define PFS_PHP_KNOWN_INSTRUCTIONS 1
#define PFS_PHP_KNOWN_KIND		   2
#define PFS_PHP_KNOWN_LINE		   3
#define PFS_PHP_KIND(words)		   ((words)[PFS_PHP_KNOWN_KIND] >> 32 & 255)
/* number of instructions */
#define PFS_PHP_COUNT(words)	   ((__u32) (words)[PFS_PHP_KNOWN_KIND])
#define PFS_PHP_IS_READABLE		   (1ULL << 40)
#define PFS_PHP_HAS_NAME		   (1ULL << 41)

static __always_inline int
pfs_php_is_instruction(const __u64 *known, __u64 address)
{
	__u64 offset = address - known[PFS_PHP_KNOWN_INSTRUCTIONS];

	return offset / PFS_PHP_INSTRUCTION_BYTES < PFS_PHP_COUNT(known) &&
		   offset % PFS_PHP_INSTRUCTION_BYTES == 0;
}

/*
 * Returns the line of an instruction of a known function, or 0 if the address is not one. Compiled
 * code (OPcache's JIT) does not save each instruction, so a frame may have any value.
 */
static __always_inline __u64
pfs_php_line(__u64 *known, __u64 instruction)
{
	__u64 offset = instruction - known[PFS_PHP_KNOWN_INSTRUCTIONS];
	__u64 number = offset / PFS_PHP_INSTRUCTION_BYTES;
	__u64 line = 0;
	__u64 word;

	if (!pfs_php_is_instruction(known, instruction))
		return 0;
	if (known[PFS_PHP_KNOWN_LINE] >> 32 == number + 1)
		return (__u32) known[PFS_PHP_KNOWN_LINE];
	if (!pfs_read_user(instruction + PFS_PHP_INSTRUCTION_LINE, &word) &&
		(__u32) word <= PFS_PHP_MOST_LINE)
		line = (__u32) word;
	known[PFS_PHP_KNOWN_LINE] = (number + 1) << 32 | line;
	return line;
}

/* Reads the hash of a file's name, which functions share. Returns non-zero if it is unreadable. */
static __always_inline __u64
pfs_php_file_hash(struct pfs_chain_walk *chain, __u64 file, __u64 *hash)
{
	__u64 key;
	struct pfs_known_object *known = pfs_known_object(chain, file | 1, &key);

	if (known->key != key)
	{
		known->words[1] = 0;
		known->words[0] = pfs_read_user(file + PFS_PHP_STRING_HASH, &known->words[1]) != 0;
		known->key = key;
	}
	*hash = known->words[1];
	return known->words[0];
}

/* Returns the check of the function in the block, or PFS_PHP_NO_CHECK. */
static __always_inline __u64
pfs_php_check_of(struct pfs_chain_walk *chain)
{
	const struct pfs_php_layout *layout = &chain->runtime.php;
	__u64 name = chain->code[PFS_PHP_FUNCTION_NAME];
	__u64 name_hash = 0;
	__u64 file_hash = 0;

	if (name && pfs_read_user(name + PFS_PHP_STRING_HASH, &name_hash))
		return PFS_PHP_NO_CHECK;
	if ((__u8) chain->code[PFS_PHP_FUNCTION_TYPE] != PFS_PHP_INTERNAL &&
		pfs_php_file_hash(chain, chain->code[layout->function_file & 31], &file_hash))
		return PFS_PHP_NO_CHECK;
	return pfs_php_check(layout, chain->code, name_hash, file_hash);
}

/* Reads the function. Returns non-zero if it cannot be read. */
static __always_inline int
pfs_read_php_function(struct pfs_chain_walk *chain, __u64 function)
{
	if (!bpf_probe_read_user(chain->code, PFS_PHP_FUNCTION_WORDS * sizeof(__u64),
							 (void *) function))
		return 0;
	/* An internal function is shorter, and unreadable memory may follow it. */
	return bpf_probe_read_user(chain->code, PFS_PHP_INTERNAL_WORDS * sizeof(__u64),
							   (void *) function) ||
		   (__u8) chain->code[PFS_PHP_FUNCTION_TYPE] != PFS_PHP_INTERNAL;
}

/* Fills the words about a function. */
static __always_inline void
pfs_know_php_function(struct pfs_chain_walk *chain, __u64 function, __u64 *known)
{
	const struct pfs_php_layout *layout = &chain->runtime.php;

	known[PFS_PHP_KNOWN_KIND] = 0;
	known[PFS_PHP_KNOWN_LINE] = 0;
	if (pfs_read_php_function(chain, function))
		return;
	known[PFS_PHP_KNOWN_CHECK] = pfs_php_check_of(chain);
	known[PFS_PHP_KNOWN_INSTRUCTIONS] = chain->code[layout->function_opcodes & 31];
	known[PFS_PHP_KNOWN_KIND] = pfs_php_instructions(layout, chain->code) |
								(chain->code[PFS_PHP_FUNCTION_TYPE] & 255) << 32 |
								PFS_PHP_IS_READABLE;
	if (chain->code[PFS_PHP_FUNCTION_NAME])
		known[PFS_PHP_KNOWN_KIND] |= PFS_PHP_HAS_NAME;
}

/* Appends the frame of a known function. Returns non-zero if the address is not a function. */
static __always_inline int
pfs_put_php_frame(struct pfs_scratch *scratch, __u32 first, __u64 function, __u64 instruction,
				  __u64 *known)
{
	__u32 flags = (__u32) scratch->chain.block[PFS_PHP_FRAME_FLAGS];
	__u64 type = PFS_PHP_KIND(known);
	__u64 payload;

	if (type != PFS_PHP_INTERNAL && type != PFS_PHP_USER && type != PFS_PHP_EVAL)
		return 1;
	/* The first frame of a fiber has a function without a name. */
	if (type == PFS_PHP_INTERNAL && !(known[PFS_PHP_KNOWN_KIND] & PFS_PHP_HAS_NAME))
		return 0;
	payload = known[PFS_PHP_KNOWN_CHECK];
	if (type != PFS_PHP_INTERNAL)
		payload |= pfs_php_line(known, instruction) << PFS_PHP_LINE_SHIFT;
	if (type == PFS_PHP_USER && (flags & PFS_PHP_FLAG_CODE) && !(flags & PFS_PHP_FLAG_TOP))
		payload |= PFS_PHP_NESTED;
	pfs_chain_put_frame(scratch, first, function, 1);
	pfs_chain_put_more(scratch, first, payload);
	/* If C code calls a C function, no loop runs. */
	if (type != PFS_PHP_INTERNAL && (flags & PFS_PHP_FLAG_TOP))
		pfs_chain_put_mark(scratch, first, 0);
	return 0;
}

/*
 * Follows the chain by one frame. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_php_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_known_object *known;
	struct pfs_chain_walk *chain;
	__u64 instruction;
	__u64 function;
	__u64 key;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	if (!chain->frame)
		return pfs_chain_end(chain, PFS_CHAIN_WHOLE);
	if (!pfs_is_object(chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (pfs_read_beside(&chain->frames, chain->frame, PFS_PHP_FRAME_WORDS, 1, chain->block))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	instruction = pfs_php_register_instruction(scratch, chain->frame);
	function = chain->block[PFS_PHP_FRAME_FUNCTION];
	chain->frame = chain->block[PFS_PHP_FRAME_PREVIOUS];
	/* A generator that delegates to another one has a frame without a function. */
	if (!function)
		return 0;
	/* A generator becomes the innermost frame before it is linked to its caller. */
	if (!chain->frame && ((__u32) chain->block[PFS_PHP_FRAME_FLAGS] & PFS_PHP_FLAG_GENERATOR))
		return pfs_chain_drop(chain);
	if (!pfs_is_object(function))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	known = pfs_known_object(chain, function, &key);
	if (known->key != key)
	{
		pfs_know_php_function(chain, function, known->words);
		known->key = key;
	}
	if (!(known->words[PFS_PHP_KNOWN_KIND] & PFS_PHP_IS_READABLE))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	/* a C function may use the registers otherwise; then the saved instruction is the best known */
	if (!pfs_php_is_instruction(known->words, instruction))
		instruction = chain->block[PFS_PHP_FRAME_INSTRUCTION];
	if (pfs_put_php_frame(scratch, first, function, instruction, known->words))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	return 0;
}

__attribute__((noinline)) int
pfs_php_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_php_step(slot, first))
			return 1;
	}
	return 0;
}

/* Finds the innermost frame. Returns non-zero if there is none, for the reason in status. */
static __always_inline int
pfs_begin_php_chain(struct pfs_chain_walk *chain, __u64 thread_pointer)
{
	const struct pfs_php_layout *layout = &chain->runtime.php;
	__u64 globals = 0;

	if (layout->has_threads)
	{
		if (pfs_read_state_word(&chain->runtime, thread_pointer, &globals))
			return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
		if (!pfs_is_object(globals))
			return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	}
	/* the state belongs to one thread of the process; its other threads do not execute PHP */
	else if (thread_pointer != layout->thread_pointer)
		return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	if (pfs_read_user(globals + layout->current, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	chain->record = 1; /* used as a flag: the next frame is the innermost one */
	return 0;
}

#endif
