/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruby.bpf.h
 *		Follows Ruby's control frames, which are adjacent on a stack of their own, the innermost at
 *		the lowest address.
 */
#ifndef PFS_RUBY_BPF_H
#define PFS_RUBY_BPF_H

#include "chain.bpf.h"
#include "ruby_check.h"

/*
 * Positions of words in the memory to which a walk copies Ruby's structures: first a control frame,
 * then the end of its environment, then an entry of a method.
 */
#define PFS_RUBY_ENV	PFS_RUBY_FRAME_WORDS
#define PFS_RUBY_METHOD (PFS_RUBY_ENV + PFS_RUBY_ENV_WORDS)
/* the address of the entry of the method; 0 if there is none */
#define PFS_RUBY_ENTRY	(PFS_RUBY_METHOD + PFS_RUBY_METHOD_WORDS)

/* Reads the end of an environment. Returns non-zero if it cannot be read. */
static __always_inline int
pfs_read_ruby_env(struct pfs_chain_walk *chain, __u64 ep)
{
	if (!pfs_is_object(ep))
		return 1;
	return (int) pfs_read_beside(&chain->environments,
								 ep - (PFS_RUBY_ENV_WORDS - 1) * sizeof(__u64), PFS_RUBY_ENV_WORDS,
								 1, &chain->block[PFS_RUBY_ENV]);
}

/* Reads an object that may be an entry of a method. Returns its type, 15 if it is not an object. */
static __always_inline __u32
pfs_read_ruby_method(struct pfs_chain_walk *chain, __u64 address)
{
	if (!pfs_is_object(address) ||
		bpf_probe_read_user(&chain->block[PFS_RUBY_METHOD], PFS_RUBY_METHOD_WORDS * sizeof(__u64),
							(void *) address))
		return 15;
	return PFS_RUBY_INNER(chain->block[PFS_RUBY_METHOD]);
}

/*
 * Looks for the entry of the method in the environment that the block holds; otherwise continues
 * with the environment around it. Returns non-zero at the end. This is a global function, so that
 * the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_ruby_env_step(__u32 slot)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	__u64 address;
	__u64 flags;
	__u32 type;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	address = chain->block[PFS_RUBY_ENV + PFS_RUBY_ENV_METHOD];
	flags = chain->block[PFS_RUBY_ENV + PFS_RUBY_ENV_FLAGS];
	type = pfs_read_ruby_method(chain, address);
	/* a local environment may have its special variables in this place, which refer to the entry */
	if (type == PFS_RUBY_INNER_SVAR && (flags & PFS_RUBY_FLAG_LOCAL))
	{
		address = chain->block[PFS_RUBY_METHOD + 1];
		type = pfs_read_ruby_method(chain, address);
	}
	if (type == PFS_RUBY_INNER_METHOD)
		chain->block[PFS_RUBY_ENTRY] = address;
	/* a local environment is the method's own; blocks have environments inside of it */
	if (type == PFS_RUBY_INNER_METHOD || (flags & PFS_RUBY_FLAG_LOCAL))
		return 1;
	return pfs_read_ruby_env(chain, chain->block[PFS_RUBY_ENV + PFS_RUBY_ENV_OUTER] & ~3ULL);
}

/*
 * Returns the address of the entry of the frame's method, and leaves the entry in the block; 0:
 * there is none.
 */
static __always_inline __u64
pfs_find_ruby_method(struct pfs_scratch *scratch)
{
	scratch->chain.block[PFS_RUBY_ENTRY] = 0;
	for (int i = 0; i < PFS_RUBY_ENVS_MAX; i++)
	{
		if (pfs_ruby_env_step(scratch->slot))
			break;
	}
	return scratch->chain.block[PFS_RUBY_ENTRY];
}

/*
 * Appends a frame for a method that is written in C. Appends nothing if no entry of the method is
 * found, because the frame would have no name.
 */
static __always_inline void
pfs_put_ruby_c_frame(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 entry = pfs_find_ruby_method(scratch);

	if (!entry)
		return;
	pfs_chain_put_frame(scratch, first, entry, 1);
	pfs_chain_put_more(scratch, first,
					   (__u64) PFS_RUBY_POSITION_MAX << PFS_RUBY_CHECK_BITS |
						   pfs_ruby_check(
							   pfs_ruby_hash_of_method(0, &chain->block[PFS_RUBY_METHOD])));
}

/* Reads the hash and the code's address of an instruction sequence. Returns whether it has code. */
static __always_inline __u64
pfs_read_ruby_iseq(struct pfs_chain_walk *chain, __u64 iseq, __u64 *hash, __u64 *code)
{
	__u64 body;

	if (pfs_read_user(iseq + PFS_RUBY_ISEQ_BODY, &body) ||
		bpf_probe_read_user(chain->code, PFS_RUBY_BODY_WORDS * sizeof(__u64), (void *) body))
		return 0;
	*hash = pfs_ruby_hash_of_iseq(body, chain->code);
	*code = chain->code[PFS_RUBY_BODY_CODE];
	return 1;
}

/* Appends the frame of Ruby code that the block holds. */
static __always_inline void
pfs_put_ruby_frame(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 iseq = chain->block[PFS_RUBY_FRAME_ISEQ];
	struct pfs_known_object *known;
	__u64 position = 0;
	__u64 hash = 0;
	__u64 is_known;
	__u64 entry;
	__u64 key;

	/* without an instruction sequence nothing names the frame */
	if (!pfs_is_object(iseq))
		return;
	known = pfs_known_object(chain, iseq, &key);
	if (known->key != key)
	{
		known->words[0] = pfs_read_ruby_iseq(chain, iseq, &known->words[1], &known->words[2]);
		known->key = key;
	}
	is_known = known->words[0];
	if (is_known)
	{
		hash = known->words[1];
		/*
		 * pc is the address after the executed instruction, so this is the number of the word after
		 * it
		 */
		position = (chain->block[PFS_RUBY_FRAME_PC] - known->words[2]) / 8;
	}
	/* the method's entry leads to its class, for names such as Integer#times */
	entry = chain->runtime.ruby.has_classes ? pfs_find_ruby_method(scratch) : 0;
	if (entry)
		hash = pfs_ruby_hash_of_method(hash, &chain->block[PFS_RUBY_METHOD]);
	pfs_chain_put_frame(scratch, first, iseq, entry ? 2 : 1);
	pfs_chain_put_more(scratch, first,
					   (position & PFS_RUBY_POSITION_MAX) << PFS_RUBY_CHECK_BITS |
						   (is_known ? pfs_ruby_check(hash) : PFS_RUBY_NO_CHECK));
	if (entry)
		pfs_chain_put_more(scratch, first, entry);
}

/*
 * Follows the chain by one frame. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_ruby_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	struct pfs_chain_walk *chain;
	__u64 flags;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	/* the stack of control frames ends where its memory does */
	if (chain->frame >= chain->record)
		return pfs_chain_end(chain, PFS_CHAIN_WHOLE);
	if (pfs_read_beside(&chain->frames, chain->frame, PFS_RUBY_FRAME_WORDS, 0, chain->block) ||
		pfs_read_ruby_env(chain, chain->block[PFS_RUBY_FRAME_EP]))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	chain->frame += chain->runtime.ruby.frame_bytes;
	flags = chain->block[PFS_RUBY_ENV + PFS_RUBY_ENV_FLAGS];
	/* In the first thread this frame looks as if it had code, but it has none. */
	if ((flags & PFS_RUBY_KIND_MASK) == PFS_RUBY_KIND_DUMMY ||
		(flags & PFS_RUBY_KIND_MASK) == PFS_RUBY_KIND_DUMMY_OLD)
		return 0;
	if ((flags & PFS_RUBY_KIND_MASK) == PFS_RUBY_KIND_C)
		pfs_put_ruby_c_frame(scratch, first);
	else if (!(flags & PFS_RUBY_FLAG_C))
		pfs_put_ruby_frame(scratch, first);
	/* this frame was entered from C code: the frames up to it are those of one loop */
	if ((flags & (PFS_RUBY_FLAG_FINISH | PFS_RUBY_FLAG_C)) == PFS_RUBY_FLAG_FINISH)
		pfs_chain_put_mark(scratch, first, 0);
	return 0;
}

__attribute__((noinline)) int
pfs_ruby_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_ruby_step(slot, first))
			return 1;
	}
	return 0;
}

/* Finds the thread's innermost frame. Returns non-zero if it has none, for the reason in status. */
static __always_inline int
pfs_begin_ruby_chain(struct pfs_chain_walk *chain, __u64 thread_pointer)
{
	const struct pfs_runtime *runtime = &chain->runtime;
	__u64 context;
	__u64 stack;

	if (pfs_read_state_word(runtime, thread_pointer, &context))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	/* the thread-local word leads to the thread, which refers to its context */
	if (context && runtime->ruby.thread_context)
	{
		if (!pfs_is_object(context))
			return pfs_chain_end(chain, PFS_CHAIN_BAD);
		if (pfs_read_user(context + runtime->ruby.thread_context, &context))
			return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	}
	if (!context)
		return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	if (!pfs_is_object(context))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (bpf_probe_read_user(chain->block, PFS_RUBY_CONTEXT_WORDS * sizeof(__u64), (void *) context))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	stack = chain->block[0];
	chain->record = stack + 8 * chain->block[1];
	chain->frame = chain->block[2];
	/* the size of the stack is bounded, so that the multiplication above cannot wrap */
	if (!pfs_is_object(stack) || !pfs_is_object(chain->frame) ||
		chain->block[1] > PFS_RUBY_STACK_WORDS_MAX || chain->frame < stack ||
		chain->frame > chain->record)
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	return 0;
}

#endif
