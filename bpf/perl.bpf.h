/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perl.bpf.h
 *		Follows Perl's frames.
 *
 * Perl has a stack of contexts (blocks, loops, subroutines, evals) for each level at which C code
 * has called it, and a list of these stacks. A context has the statement (COP) that was executed
 * when it was entered, so the line of a subroutine is in the context inside of it.
 */
#ifndef PFS_PERL_BPF_H
#define PFS_PERL_BPF_H

#include "chain.bpf.h"
#include "perl_frame.h"

/* Indexes of words in a stack (PERL_SI). */
#define PFS_PERL_STACK_CONTEXTS 1
#define PFS_PERL_STACK_PREVIOUS 2
#define PFS_PERL_STACK_INDEX	4 /* index of the last context, in the lower half */
#define PFS_PERL_STACK_WORDS	6
#define PFS_PERL_STACK_MAIN		1 /* type of the first stack */
#define PFS_PERL_MOST_CONTEXTS	(1 << 20)

/* Indexes of words in a context (PERL_CONTEXT). */
#define PFS_PERL_CONTEXT_TYPE	   0 /* lowest byte of the word: type of the context */
#define PFS_PERL_CONTEXT_COP	   2
#define PFS_PERL_CONTEXT_RETURN	   6
/* number of words up to Perl 5.30; later versions have one word more */
#define PFS_PERL_CONTEXT_WORDS_OLD 12
/* number of words since 5.32, in which the function is one word later */
#define PFS_PERL_CONTEXT_WORDS	   13

/* Types of contexts, and flags of some. */
#define PFS_PERL_TYPE_MASK	15
#define PFS_PERL_SORT_BLOCK 0
#define PFS_PERL_SUB		9
#define PFS_PERL_IS_PATTERN 0x40 /* a block in a regular expression */
#define PFS_PERL_FORMAT		10
#define PFS_PERL_EVALUATION 11
#define PFS_PERL_IS_STRING	0x20 /* flag of an eval of a string */
/*
 * flags of an eval of a block, or of a try; without them and the flag above, the code is that of a
 * file
 */
#define PFS_PERL_IS_A_BLOCK 0xc0

/* A statement (COP). */
#define PFS_PERL_COP_FIRST	  0x20 /* offset of the words that are read */
#define PFS_PERL_COP_WORDS	  4
#define PFS_PERL_COP_LINE	  0 /* in the upper half of the word */
#define PFS_PERL_COP_FILE	  2
/*
 * upper half of the word: a number that grows while the interpreter compiles, so that statements of
 * two subroutines differ in it
 */
#define PFS_PERL_COP_SEQUENCE 3

/* A name (HEK): hash and length, and the first characters. */
#define PFS_PERL_NAME_WORDS 2

/* A subroutine (CV): its head leads to a body, whose words are read from PFS_PERL_SUB_FIRST on. */
#define PFS_PERL_SUB_FIRST	  0x20
#define PFS_PERL_SUB_WORDS	  8
#define PFS_PERL_SUB_STASH	  0
#define PFS_PERL_SUB_NAME	  3 /* a glob, or a name */
#define PFS_PERL_SUB_FLAGS	  7 /* upper half of the word: flags of the sub */
#define PFS_PERL_SUB_NAMED	  0x8000ULL
/*
 * Flags of subs that are closures or prototypes of closures, have no name, run once, or hold a glob
 * of their own. A sub without these flags is the only one that executes its statements.
 */
#define PFS_PERL_SUB_FLEETING 0x05e0ULL
#define PFS_PERL_TYPE_CV	  13
#define PFS_PERL_TYPE_FM	  14

/*
 * A glob (GV): its body has the name and the stash, its GP has the glob by which the subroutine was
 * defined.
 */
#define PFS_PERL_GLOB_WORDS	   3 /* words that are read of a glob */
#define PFS_PERL_GLOB_BODY	   0
#define PFS_PERL_GLOB_GP	   2
#define PFS_PERL_GP_DEFINED_BY 0x38
#define PFS_PERL_GLOB_NAME	   0x20

#define PFS_PERL_LETTERS(a, b, c, d, e) \
	((__u64) (a) | (__u64) (b) << 8 | (__u64) (c) << 16 | (__u64) (d) << 24 | (__u64) (e) << 32)

/*
 * Returns whether the name belongs to a block that Perl calls before the program begins, or after
 * it has ended.
 */
static __always_inline int
pfs_perl_is_phase(const __u64 name[PFS_PERL_NAME_WORDS])
{
	__u64 letters = name[1] & ((1ULL << 40) - 1);

	switch (name[0] >> 32)
	{
		case 3:
			return (letters & 0xffffff) == PFS_PERL_LETTERS('E', 'N', 'D', 0, 0);
		case 4:
			return (__u32) letters == PFS_PERL_LETTERS('I', 'N', 'I', 'T', 0);
		case 5:
			return letters == PFS_PERL_LETTERS('B', 'E', 'G', 'I', 'N') ||
				   letters == PFS_PERL_LETTERS('C', 'H', 'E', 'C', 'K');
		case 9:
			return letters == PFS_PERL_LETTERS('U', 'N', 'I', 'T', 'C');
		default:
			return 0;
	}
}

/* How long after its subroutine was read a frame is used again: a subroutine may be renamed. */
#define PFS_PERL_KNOWN_NS 1000000000ULL

/*
 * Words of a known subroutine: the address of its name, or an enum pfs_perl_code, with flags; its
 * package; the name's first word.
 */
#define PFS_PERL_KNOWN_NAME		  0
#define PFS_PERL_KNOWN_STASH	  1
#define PFS_PERL_KNOWN_HEAD		  2
#define PFS_PERL_NAME_IS_LASTING  (1ULL << 61) /* the sub has none of PFS_PERL_SUB_FLEETING */
#define PFS_PERL_NAME_IS_READABLE (1ULL << 62)
#define PFS_PERL_NAME_IS_PHASE	  (1ULL << 63)

/* Returns the start of a file's name; NULL if it cannot be read. */
static __always_inline const __u64 *
pfs_perl_file_name(struct pfs_chain_walk *chain, __u64 file)
{
	__u64 key;
	struct pfs_known_object *known = pfs_known_object(chain, file, &key);

	if (known->key != key)
	{
		/* The name is read with the size of malloc()'s smallest piece, so all these bytes exist. */
		known->words[PFS_PERL_FILE_WORDS] =
			!bpf_probe_read_user(known->words, PFS_PERL_FILE_WORDS * sizeof(__u64), (void *) file);
		known->key = key;
	}
	return known->words[PFS_PERL_FILE_WORDS] ? known->words : 0;
}

/* Finds the name and the stash of a glob. Returns non-zero if it cannot be read. */
static __always_inline int
pfs_perl_glob(struct pfs_chain_walk *chain, __u64 glob, __u64 *name, __u64 *stash)
{
	__u64 *words = chain->code;
	__u64 defined_by = 0;
	__u64 body;

	if (!pfs_is_object(glob) ||
		bpf_probe_read_user(words, PFS_PERL_GLOB_WORDS * sizeof(__u64), (void *) glob))
		return 1;
	body = words[PFS_PERL_GLOB_BODY];
	if (pfs_is_object(words[PFS_PERL_GLOB_GP]))
		(void) pfs_read_user(words[PFS_PERL_GLOB_GP] + PFS_PERL_GP_DEFINED_BY, &defined_by);
	/* usually it is this glob */
	if (pfs_is_object(defined_by) && defined_by != glob && pfs_read_user(defined_by, &body))
		return 1;
	if (bpf_probe_read_user(words, 2 * sizeof(__u64), (void *) (body + PFS_PERL_GLOB_NAME)))
		return 1;
	*name = words[0];
	*stash = words[1];
	return 0;
}

/*
 * Finds the name and the stash of a subroutine, and its flags. Returns non-zero if it cannot be
 * read, or is not a subroutine.
 */
static __always_inline int
pfs_perl_function(struct pfs_chain_walk *chain, __u64 function, __u64 *name, __u64 *stash,
				  __u64 *flags)
{
	__u64 *words = chain->code;
	__u8 type;

	if (!pfs_is_object(function) ||
		bpf_probe_read_user(words, 2 * sizeof(__u64), (void *) function))
		return 1;
	type = (__u8) (words[1] >> 32);
	if ((type != PFS_PERL_TYPE_CV && type != PFS_PERL_TYPE_FM) ||
		bpf_probe_read_user(words, PFS_PERL_SUB_WORDS * sizeof(__u64),
							(void *) (words[0] + PFS_PERL_SUB_FIRST)))
		return 1;
	*name = words[PFS_PERL_SUB_NAME];
	*stash = words[PFS_PERL_SUB_STASH];
	*flags = words[PFS_PERL_SUB_FLAGS] >> 32;
	if (*flags & PFS_PERL_SUB_NAMED)
		return 0;
	return pfs_perl_glob(chain, *name, name, stash);
}

/* Reads the words about a subroutine. */
static __always_inline void
pfs_know_perl_function(struct pfs_chain_walk *chain, __u64 function, __u64 *known)
{
	__u64 *head = chain->code;
	__u64 name = 0;
	__u64 stash = 0;
	__u64 flags = 0;

	known[PFS_PERL_KNOWN_NAME] = PFS_PERL_UNKNOWN;
	known[PFS_PERL_KNOWN_STASH] = 0;
	known[PFS_PERL_KNOWN_HEAD] = 0;
	if (pfs_perl_function(chain, function, &name, &stash, &flags))
	{
		known[PFS_PERL_KNOWN_NAME] |= PFS_PERL_NAME_IS_READABLE;
		return;
	}
	known[PFS_PERL_KNOWN_NAME] = PFS_FRAME_ADDRESS(name);
	known[PFS_PERL_KNOWN_STASH] = stash;
	if (name >= PFS_PERL_CODES &&
		bpf_probe_read_user(head, PFS_PERL_NAME_WORDS * sizeof(__u64), (void *) name))
		return;
	known[PFS_PERL_KNOWN_NAME] |= PFS_PERL_NAME_IS_READABLE;
	if (name < PFS_PERL_CODES)
		return;
	known[PFS_PERL_KNOWN_HEAD] = head[0];
	if (!(flags & PFS_PERL_SUB_FLEETING))
		known[PFS_PERL_KNOWN_NAME] |= PFS_PERL_NAME_IS_LASTING;
	if (pfs_perl_is_phase(head))
		known[PFS_PERL_KNOWN_NAME] |= PFS_PERL_NAME_IS_PHASE;
}

/* Returns the address of a glob's name (a HEK); 0 if it cannot be read. */
static __always_inline __u64
pfs_perl_glob_name(__u64 glob)
{
	__u64 body;
	__u64 name;

	if (!pfs_is_object(glob) || pfs_read_user(glob, &body) ||
		pfs_read_user(body + PFS_PERL_GLOB_NAME, &name) || !pfs_is_object(name))
		return 0;
	return name;
}

/*
 * Reads a statement, and the address of its file's name. Returns non-zero if the statement cannot
 * be read.
 */
static __always_inline long
pfs_read_perl_cop(struct pfs_chain_walk *chain, __u64 cop)
{
	long failed = bpf_probe_read_user(chain->code, PFS_PERL_COP_WORDS * sizeof(__u64),
									  (void *) (cop + PFS_PERL_COP_FIRST));

	if (!failed && chain->runtime.perl.is_single)
		chain->code[PFS_PERL_COP_FILE] = pfs_perl_glob_name(chain->code[PFS_PERL_COP_FILE]);
	return failed;
}

/*
 * Reads the statement of a frame: its line, as the frame's payload, and its file. Returns the hash
 * of the file.
 */
static __always_inline __u64
pfs_know_perl_cop(struct pfs_chain_walk *chain, struct pfs_perl_known_frame *frame)
{
	const __u64 *cop = chain->code;
	__u64 text[PFS_PERL_FILE_WORDS] = { 0 };
	const __u64 *name = 0;

	frame->payload = 0;
	frame->file = 0;
	if (!pfs_read_perl_cop(chain, frame->cop))
	{
		__u64 line = cop[PFS_PERL_COP_LINE] >> 32;

		frame->payload = (line > PFS_PERL_MOST_LINE ? 0 : line) << PFS_PERL_CHECK_BITS;
		frame->file = cop[PFS_PERL_COP_FILE];
		frame->sequence = cop[PFS_PERL_COP_SEQUENCE];
	}
	if (frame->file)
		name = pfs_perl_file_name(chain, frame->file);
	if (name)
	{
		text[0] = name[0];
		text[1] = name[1];
	}
	else
		frame->file = 0;
	return pfs_perl_file_hash(frame->file, text);
}

/* Reads a frame, whose function and statement are set. */
static __always_inline void
pfs_know_perl_frame(struct pfs_scratch *scratch, struct pfs_perl_known_frame *frame)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 head = 0;
	__u64 key;

	frame->name = frame->function | PFS_PERL_NAME_IS_READABLE;
	frame->stash = 0;
	if (frame->function >= PFS_PERL_CODES)
	{
		struct pfs_known_object *known = pfs_known_object(chain, frame->function, &key);

		if (known->key != key)
		{
			pfs_know_perl_function(chain, frame->function, known->words);
			known->key = key;
		}
		frame->name = known->words[PFS_PERL_KNOWN_NAME];
		frame->stash = known->words[PFS_PERL_KNOWN_STASH];
		head = known->words[PFS_PERL_KNOWN_HEAD];
	}
	key = pfs_know_perl_cop(chain, frame);
	if (frame->name & PFS_PERL_NAME_IS_READABLE)
		frame->payload |= pfs_perl_check(head, frame->stash, key);
	frame->owner = frame->name & PFS_PERL_NAME_IS_LASTING ? chain->perl.owner : 0;
	frame->read_ns = scratch->sample.time_ns;
	frame->confirmed_ns = scratch->sample.time_ns;
}

/*
 * Returns whether a frame that was read for an earlier sample is still the same. The statement is
 * executed, so it was not freed; if it has the same number of the compiler, it is that of the same
 * subroutine.
 */
static __always_inline int
pfs_is_perl_frame_same(struct pfs_scratch *scratch, const struct pfs_perl_known_frame *frame)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const __u64 *cop = chain->code;

	return frame->owner && frame->owner == chain->perl.owner &&
		   scratch->sample.time_ns - frame->read_ns < PFS_PERL_KNOWN_NS &&
		   !pfs_read_perl_cop(chain, frame->cop) &&
		   cop[PFS_PERL_COP_LINE] >> 32 == frame->payload >> PFS_PERL_CHECK_BITS &&
		   cop[PFS_PERL_COP_FILE] == frame->file && cop[PFS_PERL_COP_SEQUENCE] == frame->sequence;
}

/* Returns the frame of a function, or an enum pfs_perl_code, at the walk's statement. */
static __always_inline const struct pfs_perl_known_frame *
pfs_find_perl_frame(struct pfs_scratch *scratch, __u64 function)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	__u64 cop = chain->perl.cop;
	__u64 now = scratch->sample.time_ns;
	struct pfs_perl_known_frame *frame =
		&chain->perl_known[pfs_hash_step(function, cop) >> (64 - PFS_PERL_KNOWN_BITS + 1) << 1];

	/* the second place is used while the first one has another frame of this sample */
	if ((frame->function != function || frame->cop != cop) &&
		(frame->confirmed_ns == now || (frame[1].function == function && frame[1].cop == cop)))
		frame++;
	if (frame->function == function && frame->cop == cop)
	{
		if (frame->confirmed_ns == now)
			return frame;
		if (pfs_is_perl_frame_same(scratch, frame))
		{
			frame->confirmed_ns = now;
			return frame;
		}
	}
	frame->function = function;
	frame->cop = cop;
	pfs_know_perl_frame(scratch, frame);
	return frame;
}

/* Appends the frame of a function, or an enum pfs_perl_code, at the walk's statement. */
static __always_inline void
pfs_put_perl_frame(struct pfs_scratch *scratch, __u32 first, __u64 function)
{
	const struct pfs_perl_known_frame *frame = pfs_find_perl_frame(scratch, function);

	scratch->chain.perl.is_phase = (frame->name & PFS_PERL_NAME_IS_PHASE) != 0;
	pfs_chain_put_frame(scratch, first, frame->name, PFS_PERL_MORE);
	pfs_chain_put_more(scratch, first, frame->payload);
	pfs_chain_put_more(scratch, first, frame->file);
	pfs_chain_put_more(scratch, first, frame->stash);
}

/*
 * Puts the mark for which the previous frame waits. There are two cases: C code has called the loop
 * for a context that has no statement to return to; or a block without an end of its own has called
 * a function as its last statement. In the latter case such a block is the next context.
 */
static __always_inline void
pfs_put_perl_mark(struct pfs_scratch *scratch, __u32 first, __u8 flags)
{
	__u8 type = flags & PFS_PERL_TYPE_MASK;

	if (scratch->chain.perl.is_ended && type != PFS_PERL_SORT_BLOCK &&
		!(type == PFS_PERL_SUB && (flags & PFS_PERL_IS_PATTERN)))
		pfs_chain_put_mark(scratch, first, 0);
	scratch->chain.perl.is_ended = 0;
}

/* Continues with the statement that entered the context in the block. Returns 0. */
static __always_inline int
pfs_enter_perl_caller(struct pfs_chain_walk *chain)
{
	chain->perl.cop = chain->block[PFS_PERL_CONTEXT_COP];
	chain->perl.is_ended = !chain->block[PFS_PERL_CONTEXT_RETURN];
	return 0;
}

/*
 * Begins the frame of the context in the block. Returns non-zero if it has one, whose function, or
 * an enum pfs_perl_code, is in function.
 */
static __always_inline int
pfs_begin_perl_frame(struct pfs_scratch *scratch, __u32 first, __u64 *function)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const __u64 *context = chain->block;
	__u8 flags = (__u8) context[PFS_PERL_CONTEXT_TYPE];
	__u8 type = flags & PFS_PERL_TYPE_MASK;

	pfs_put_perl_mark(scratch, first, flags);
	chain->perl.is_sort = type == PFS_PERL_SORT_BLOCK;
	if (type == PFS_PERL_SUB || type == PFS_PERL_FORMAT)
	{
		*function = context[chain->runtime.perl.context_function & 15];
		/* the context has no subroutine yet, or no longer, while one is entered or left */
		if (!*function)
			return pfs_enter_perl_caller(chain);
		/* an address below those of objects would be taken for an enum pfs_perl_code */
		if (!pfs_is_object(*function))
			*function = PFS_PERL_UNKNOWN;
		return 1;
	}
	*function = flags & PFS_PERL_IS_STRING ? PFS_PERL_EVAL : PFS_PERL_REQUIRE;
	return type == PFS_PERL_EVALUATION && !(flags & PFS_PERL_IS_A_BLOCK);
}

/* Starts with the contexts of a stack. */
static __always_inline int
pfs_enter_perl_stack(struct pfs_chain_walk *chain)
{
	__s32 index;

	if (!pfs_is_object(chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (bpf_probe_read_user(chain->block, PFS_PERL_STACK_WORDS * sizeof(__u64),
							(void *) chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	index = (__s32) chain->block[PFS_PERL_STACK_INDEX];
	if (index < -1 || index >= PFS_PERL_MOST_CONTEXTS)
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	chain->perl.contexts = chain->block[PFS_PERL_STACK_CONTEXTS];
	chain->frame = chain->block[PFS_PERL_STACK_PREVIOUS];
	chain->perl.left = (__u32) (index + 1);
	chain->perl.type = ((__u32 *) chain->block)[chain->runtime.perl.stack_type & 15];
	chain->perl.is_entered = 1;
	chain->perl.is_sort = 0;
	return 0;
}

/*
 * Leaves a stack all of whose contexts were followed. Returns non-zero if the next frame is that of
 * the program. The first stack is the program's, unless a block is executed while the program is
 * compiled: then no loop executes the program. The block of a sort has no context of a subroutine,
 * but a loop of its own.
 */
static __always_inline int
pfs_leave_perl_stack(struct pfs_scratch *scratch, __u32 first)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	int is_main = chain->perl.type == PFS_PERL_STACK_MAIN;

	if (chain->perl.is_ended || chain->perl.is_sort)
		pfs_chain_put_mark(scratch, first, 0);
	chain->perl.is_entered = 0;
	chain->perl.is_ended = 0;
	if (is_main || !chain->frame)
		(void) pfs_chain_end(chain, PFS_CHAIN_WHOLE);
	return is_main && !chain->perl.is_phase;
}

/*
 * Reads the last context that was not followed yet into the block. Returns non-zero if it cannot be
 * read.
 */
static __always_inline int
pfs_read_perl_context(struct pfs_chain_walk *chain)
{
	__u64 contexts = chain->perl.contexts;
	__u64 left = --chain->perl.left;
	long failed;

	if (!pfs_is_object(contexts))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	if (chain->runtime.perl.has_short_contexts)
		failed = pfs_read_beside(&chain->frames,
								 contexts + left * PFS_PERL_CONTEXT_WORDS_OLD * sizeof(__u64),
								 PFS_PERL_CONTEXT_WORDS_OLD, 1, chain->block);
	else
		failed = pfs_read_beside(&chain->frames,
								 contexts + left * PFS_PERL_CONTEXT_WORDS * sizeof(__u64),
								 PFS_PERL_CONTEXT_WORDS, 1, chain->block);
	return failed ? pfs_chain_end(chain, PFS_CHAIN_UNREADABLE) : 0;
}

/*
 * Follows the chain by one context. Returns non-zero if the chain has ended, for the reason in its
 * status. This is a global function, so that the kernel verifies it once.
 */
__attribute__((noinline)) int
pfs_perl_step(__u32 slot, __u32 first)
{
	struct pfs_scratch *scratch = pfs_get_scratch(slot);
	__u64 function = PFS_PERL_MAIN;
	struct pfs_chain_walk *chain;
	int is_context;

	if (!scratch)
		return 1;
	chain = &scratch->chain;
	if (!chain->perl.is_entered)
		return pfs_enter_perl_stack(chain);
	is_context = chain->perl.left != 0;
	/* one call appends frames of both kinds, because its code is inlined and long */
	if (is_context && pfs_read_perl_context(chain))
		return 1;
	if (is_context ? pfs_begin_perl_frame(scratch, first, &function)
				   : pfs_leave_perl_stack(scratch, first))
		pfs_put_perl_frame(scratch, first, function);
	else
		return chain->status != PFS_CHAIN_RUNNING;
	if (!is_context)
	{
		pfs_chain_put_mark(scratch, first, 0);
		return 1;
	}
	return pfs_enter_perl_caller(chain);
}

__attribute__((noinline)) int
pfs_perl_steps(__u32 slot, __u32 first)
{
	for (int i = 0; i < PFS_CHAIN_STEPS; i++)
	{
		if (pfs_perl_step(slot, first))
			return 1;
	}
	return 0;
}

/* Returns a hash of the process, the thread and its interpreter; never 0. */
static __always_inline __u64
pfs_perl_owner(const struct pfs_sample *sample, __u64 interpreter)
{
	__u64 hash = pfs_hash_step((__u64) sample->pid << 32 | sample->tid, sample->start_time_ns);

	return pfs_hash_step(pfs_hash_step(hash, sample->exec_id), interpreter) | 1;
}

/* Finds a thread's interpreter. Returns non-zero if it has none, for the reason in status. */
static __always_inline int
pfs_find_perl_interpreter(struct pfs_chain_walk *chain, __u64 thread_pointer, __u64 *interpreter)
{
	if (pfs_read_state_word(&chain->runtime, thread_pointer, interpreter))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	if (!*interpreter)
		return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
	if (!pfs_is_object(*interpreter))
		return pfs_chain_end(chain, PFS_CHAIN_BAD);
	return 0;
}

/* Finds the innermost stack. Returns non-zero if there is none, for the reason in status. */
static __always_inline int
pfs_begin_perl_chain(struct pfs_scratch *scratch, __u64 thread_pointer)
{
	struct pfs_chain_walk *chain = &scratch->chain;
	const struct pfs_runtime *runtime = &chain->runtime;
	__u64 interpreter;

	if (runtime->perl.is_single)
	{
		if (thread_pointer != runtime->perl.thread_pointer)
			return pfs_chain_end(chain, PFS_CHAIN_NO_STATE);
		interpreter = 0; /* the layout has addresses instead of offsets */
	}
	else if (pfs_find_perl_interpreter(chain, thread_pointer, &interpreter))
		return 1;
	chain->perl.is_entered = 0;
	chain->perl.is_ended = 0;
	chain->perl.is_phase = 0;
	chain->perl.owner = pfs_perl_owner(&scratch->sample, interpreter);
	if (pfs_read_user(interpreter + runtime->perl.state_cop, &chain->perl.cop) ||
		pfs_read_user(interpreter + runtime->perl.state_stack, &chain->frame))
		return pfs_chain_end(chain, PFS_CHAIN_UNREADABLE);
	return 0;
}

#endif
