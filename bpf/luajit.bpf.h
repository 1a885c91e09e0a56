/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * luajit.bpf.h
 *		Follows LuaJIT's frames, on the stack of the coroutine that runs and of those that wait for
 *		it.
 *
 * A frame is a place on that stack: the function lies before it, and in it a link to the frame
 * before. The interpreter's own frames on the machine's stack are linked, too, and are the marks.
 */
#ifndef PFS_LUAJIT_BPF_H
#define PFS_LUAJIT_BPF_H

#include "chain.bpf.h"
#include "luajit_check.h"
#include "luajit_trace.bpf.h"

#define PFS_LUAJIT_GUARDS 4 /* limit of nested protected calls without a Lua frame */

/* Selects a state, whose words the block contains. Its frames are followed from base on. */
static __always_inline int
pfs_take_luajit_state(struct pfs_chain_walk *chain, __u64 base)
{
	/*
	 * The word before the base has the link of the frame, the word before that its function. The
	 * lowest frame of a state's stack has no caller.
	 */
	chain->frame = base - 8;
	chain->record = chain->block[PFS_LUAJIT_STATE_STACK] + 8;
	chain->luajit.stack = chain->block[PFS_LUAJIT_STATE_STACK];
	/* the two lowest bits are flags */
	chain->luajit.call = chain->block[PFS_LUAJIT_STATE_CALL] & ~3ULL;
	return !pfs_is_object(base) || !pfs_is_object(chain->luajit.stack) ||
		   base > chain->block[PFS_LUAJIT_STATE_END];
}

/* Reads a state into the block. Returns non-zero if it does not belong to the global state. */
static __always_inline int
pfs_read_luajit_state(struct pfs_chain_walk *chain, __u64 state)
{
	return !pfs_is_object(state) ||
		   bpf_probe_read_user(chain->block, PFS_LUAJIT_STATE_WORDS * sizeof(__u64),
							   (void *) state) ||
		   PFS_LUAJIT_TYPE(chain->block[PFS_LUAJIT_STATE_TYPE]) != PFS_LUAJIT_TYPE_STATE ||
		   chain->block[PFS_LUAJIT_STATE_GLOBAL] != chain->luajit.global;
}

/* Reads the running state into the block. Returns non-zero if global is not a global state. */
static __always_inline int
pfs_read_luajit_global(struct pfs_chain_walk *chain, __u64 global)
{
	__u64 state;

	chain->luajit.global = global;
	return !pfs_is_object(global) ||
		   pfs_read_user(global + chain->runtime.luajit.current, &state) ||
		   pfs_read_luajit_state(chain, state);
}

/*
 * Returns the base in the interpreter's register while its code runs; 0 if the register has none.
 * The base in the state is that of the last call of C code. While the interpreter leaves the frame,
 * a result has replaced the function, but the link is still there.
 */
static __always_inline __u64
pfs_luajit_register_base(struct pfs_chain_walk *chain)
{
	const struct pfs_luajit_layout *layout = &chain->runtime.luajit;
	__u64 base = chain->leaf_dx;
	__u64 function;
	__u64 link;

	/*
	 * The register has other content outside of the interpreter's code. Inside, its value must lie
	 * on the state's stack, above a function.
	 */
	if (chain->leaf_pc < layout->code_start || chain->leaf_pc >= layout->code_end || (base & 7) ||
		base <= chain->block[PFS_LUAJIT_STATE_STACK] + 8 ||
		base > chain->block[PFS_LUAJIT_STATE_END] || pfs_read_user(base - 16, &function) ||
		pfs_read_user(base - 8, &link))
		return 0;
	if (PFS_LUAJIT_IS_FUNCTION(function))
		return base;
	return (link & 3) == PFS_LUAJIT_LINK_LUA && pfs_is_object(link & ~7ULL) ? base : 0;
}

/*
 * Finds the thread's innermost frame. Returns non-zero if it has none, for the reason in status.
 * stopped_pc: where the walk of the machine's frames ended.
 */
static __always_inline int
pfs_begin_luajit_chain(struct pfs_chain_walk *chain, __u64 thread_pointer, __u64 stopped_pc)
{
	const struct pfs_luajit_layout *layout = &chain->runtime.luajit;
	__u64 compiled;
	__u64 base;

	chain->luajit.pc = 0;
	chain->luajit.last = 0;
	chain->luajit.function = 0;
	chain->luajit.entries = 0;
	chain->luajit.is_linked = 0;
	/*
	 * 1. The global state: by the register that leads to the interpreter's dispatch table, if it
	 * does; otherwise that of the thread for which the collector has found one.
	 */
	if (pfs_read_luajit_global(chain, chain->leaf_r14 - layout->dispatch))
	{
		if (thread_pointer != layout->thread_pointer)
			return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
		if (pfs_read_luajit_global(chain, layout->global))
			return pfs_chain_end(chain, PFS_CHAIN_BAD);
	}
	/*
	 * 2. The base of the innermost frame: of the trace that runs, otherwise the interpreter's
	 * register, otherwise the state's field.
	 */
	if (pfs_read_user(chain->luajit.global + layout->current + 8, &compiled))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	base = compiled ? PFS_LUAJIT_REFERENCE(compiled) : pfs_luajit_register_base(chain);
	if (base && !compiled)
		chain->luajit.pc = chain->leaf_bx;
	if (!base)
		base = chain->block[PFS_LUAJIT_STATE_BASE];
	if (pfs_take_luajit_state(chain, base))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	/* 3. A trace executes functions that have no frame on the state's stack. */
	if (compiled)
		pfs_begin_luajit_trace(chain, chain->leaf_pc, stopped_pc);
	return 0;
}

/* Words of a known function. */
#define PFS_LUAJIT_KNOWN_CODE  0 /* address of its bytecode; 0: it is not a Lua function */
#define PFS_LUAJIT_KNOWN_CHECK 1
#define PFS_LUAJIT_KNOWN_COUNT 2 /* number of instructions */

/* Reads the words about a function. */
static __always_inline void
pfs_know_luajit_function(struct pfs_chain_walk *chain, __u64 function, __u64 *known)
{
	__u64 chunk[PFS_LUAJIT_STRING_WORDS];
	__u64 code;

	known[PFS_LUAJIT_KNOWN_CODE] = 0;
	known[PFS_LUAJIT_KNOWN_CHECK] = PFS_LUAJIT_NO_CHECK;
	known[PFS_LUAJIT_KNOWN_COUNT] = 0;
	if (!pfs_is_object(function) ||
		bpf_probe_read_user(chain->code, PFS_LUAJIT_FUNCTION_WORDS * sizeof(__u64),
							(void *) function) ||
		PFS_LUAJIT_TYPE(chain->code[PFS_LUAJIT_FUNCTION_TYPE]) != PFS_LUAJIT_TYPE_FUNCTION ||
		PFS_LUAJIT_IS_BUILTIN(chain->code[PFS_LUAJIT_FUNCTION_TYPE]))
		return;
	/* the bytecode follows its prototype directly */
	code = chain->code[PFS_LUAJIT_FUNCTION_CODE];
	if (!pfs_is_object(code))
		return;
	known[PFS_LUAJIT_KNOWN_CODE] = code;
	if (bpf_probe_read_user(chain->code, PFS_LUAJIT_PROTO_WORDS * sizeof(__u64),
							(void *) (code - PFS_LUAJIT_PROTO_WORDS * sizeof(__u64))))
		return;
	known[PFS_LUAJIT_KNOWN_COUNT] = chain->code[PFS_LUAJIT_PROTO_SIZE] >> 32;
	if (!bpf_probe_read_user(chunk, sizeof(chunk),
							 (void *) (PFS_LUAJIT_REFERENCE(chain->code[PFS_LUAJIT_PROTO_CHUNK]) +
									   PFS_LUAJIT_STRING_FIRST)))
		known[PFS_LUAJIT_KNOWN_CHECK] = pfs_luajit_check(chain->code, chunk);
}

/*
 * Appends the frame of a function, if it is a Lua function. Returns non-zero if the frame that it
 * called has another function's link: a frame is innermost one instruction before it gets its own.
 */
static __always_inline int
pfs_put_luajit_frame(struct pfs_scratch *scratch, __u32 first, __u64 function)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 position = 0;
	__u64 key;
	struct pfs_known_object *known = pfs_known_object(chain, function, &key);
	__u64 code;

	if (known->key != key)
	{
		pfs_know_luajit_function(chain, function, known->words);
		known->key = key;
	}
	code = known->words[PFS_LUAJIT_KNOWN_CODE];
	/* instructions have 4 bytes; pc is 0 if the position is not known */
	if (code && chain->luajit.pc > code)
		position = (chain->luajit.pc - code) / 4;
	if (position > known->words[PFS_LUAJIT_KNOWN_COUNT] || position > PFS_LUAJIT_POSITION_MAX)
		position = 0;
	if (!position && chain->luajit.is_linked)
		return 1;
	/* a function in C, which has a frame on the machine's stack */
	if (!code)
		return 0;
	pfs_chain_put_frame(scratch, first, code - PFS_LUAJIT_PROTO_WORDS * sizeof(__u64), 1);
	pfs_chain_put_more(scratch, first,
					   position << PFS_LUAJIT_CHECK_BITS | known->words[PFS_LUAJIT_KNOWN_CHECK]);
	return 0;
}

/*
 * Marks the end of the frames that one call of the interpreter executes; the given frame is the
 * outermost. Protected calls without a Lua frame get no mark. Returns non-zero if the calls cannot
 * be read.
 */
static __always_inline int
pfs_leave_luajit_call(struct pfs_scratch *scratch, __u32 first, __u64 frame)
{
	struct pfs_chain_walk *chain = &scratch->chain;

	for (int i = 0; i < PFS_LUAJIT_GUARDS; i++)
	{
		__u64 call = chain->luajit.call;
		__s32 results;

		/* calls are at ascending addresses on the machine's stack */
		if (!pfs_is_object(call) || call <= chain->luajit.last ||
			bpf_probe_read_user(chain->code, PFS_LUAJIT_CALL_WORDS * sizeof(__u64), (void *) call))
			return 1;
		chain->luajit.last = call;
		chain->luajit.call = chain->code[PFS_LUAJIT_CALL_OUTER] & ~3ULL;
		/*
		 * A negative number: a protected call, made at this distance on the state's stack. If the
		 * outermost frame is below that place, the call executes no Lua frame.
		 */
		results = (__s32) chain->code[PFS_LUAJIT_CALL_RESULTS];
		if (results < 0 && frame < chain->luajit.stack + (__u64) - (__s64) results)
			continue;
		pfs_chain_put_mark(scratch, first, call);
		return 0;
	}
	return 1;
}

/*
 * Continues with the coroutine that resumed the ended one. The interpreter's frame of that
 * coroutine is before the last mark's. Returns non-zero if there is none.
 */
static __always_inline int
pfs_resume_luajit_caller(struct pfs_chain_walk *chain)
{
	__u64 call = chain->luajit.last + PFS_LUAJIT_CALL_BYTES;
	__u64 state;

	/* the interpreter's frame of the other coroutine must belong to a state that refers to it */
	if (chain->luajit.call || !chain->luajit.last ||
		pfs_read_user(call + 8 * PFS_LUAJIT_CALL_STATE, &state) ||
		pfs_read_luajit_state(chain, state) ||
		(chain->block[PFS_LUAJIT_STATE_CALL] & ~3ULL) != call)
		return 1;
	chain->luajit.pc = 0;
	return pfs_take_luajit_state(chain, chain->block[PFS_LUAJIT_STATE_BASE]);
}

/* Finds the frame before one with this link. Returns non-zero if the chain has ended. */
static __always_inline int
pfs_luajit_outer_frame(struct pfs_scratch *scratch, __u32 first, __u64 frame, __u64 link)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 pc = chain->luajit.pc;
	__u32 is_linked = chain->luajit.is_linked;
	__u64 distance = link & ~7ULL;
	__u32 instruction;

	/* position in the outer function: unknown unless the link contains it */
	chain->luajit.pc = 0;
	chain->luajit.is_linked = 0;
	if ((link & 3) == PFS_LUAJIT_LINK_LUA)
	{
		/*
		 * The link is the address after the call instruction, whose operand A is the distance to
		 * the caller's base in words, without the two words before the base. Other links contain
		 * the distance in bytes.
		 */
		if (bpf_probe_read_user(&instruction, sizeof(instruction), (void *) (link - 4)))
			return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
		chain->luajit.pc = link;
		chain->luajit.is_linked = 1;
		distance = 8 * ((instruction >> 8 & 255) + 2ULL);
	}
	else if ((link & 7) == PFS_LUAJIT_LINK_VARARG)
	{
		/* the function is still running: its frame was moved after its arguments */
		chain->luajit.pc = pc;
		chain->luajit.is_linked = is_linked;
	}
	else if ((link & 3) == PFS_LUAJIT_LINK_CONTINUE && !(link & 4))
	{
		if (pfs_read_user(frame - 16, &chain->luajit.pc))
			return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	}
	else if ((link & 3) == PFS_LUAJIT_LINK_C && pfs_leave_luajit_call(scratch, first, frame))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	/* a frame must lie below the one that it called, and on the stack */
	if (!distance || distance > frame - chain->luajit.stack)
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	chain->frame = frame - distance;
	return 0;
}

/* Appends the frame of the next function in a compiled trace, if the next entry has one. */
static __always_inline void
pfs_luajit_inlined_step(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 function;
	__u64 caller;
	__u32 type;

	if (!pfs_next_luajit_inlined(chain, &function, &type, &caller) ||
		type == PFS_LUAJIT_LINK_VARARG)
		return;
	/* otherwise the trace does not contain the function; its bytecode's address identifies it */
	if (function)
		(void) pfs_put_luajit_frame(scratch, first, function);
	else
	{
		pfs_chain_put_frame(scratch, first, chain->luajit.pc, 1);
		pfs_chain_put_more(scratch, first, PFS_LUAJIT_NO_CHECK);
	}
	chain->luajit.pc = caller;
}

/*
 * Follows the chain by one frame. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_luajit_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	__u64 frame;
	__u64 link;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	/* functions of a trace come first: they are called by the innermost frame on the stack */
	if (chain->luajit.entries)
	{
		pfs_luajit_inlined_step(scratch, first);
		return 0;
	}
	frame = chain->frame;
	/* the end of the coroutine's stack; the coroutine that resumed it waits for it */
	if (frame <= chain->record)
	{
		if (pfs_resume_luajit_caller(chain))
			return pfs_chain_end(chain, PFS_CHAIN_WHOLE);
		return 0;
	}
	if (pfs_read_beside(&chain->frames, frame - 8, 2, 1, chain->block))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	link = chain->block[1];
	/* a function with variable arguments has two frames, of which only the outer one is appended */
	if ((link & 7) != PFS_LUAJIT_LINK_VARARG)
	{
		__u64 function =
			chain->luajit.function ? chain->luajit.function : PFS_LUAJIT_REFERENCE(chain->block[0]);

		chain->luajit.function = 0;
		if (pfs_put_luajit_frame(scratch, first, function))
			return pfs_chain_end(chain, PFS_CHAIN_BAD);
	}
	return pfs_luajit_outer_frame(scratch, first, frame, link);
}

__attribute__((noinline)) int
pfs_luajit_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_luajit_step(slot, first))
			return 1;
	}
	return 0;
}

#endif
