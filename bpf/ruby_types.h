/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruby_types.h
 *		Ruby's control frames and code, as far as the kernel's walk reads them, and the words of its
 *		frames in records: a part of runtime_types.h.
 *
 * A frame of Ruby code has three words: the instruction sequence, a payload, and the entry of the
 * method that the code belongs to, if the walk looks for it. A frame of a method that is written in
 * C has two words: the entry of the method, and a payload.
 */
#ifndef PFS_RUBY_TYPES_H
#define PFS_RUBY_TYPES_H

#include <linux/types.h>

struct pfs_ruby_layout {
	__u16 frame_bytes; /* size of a control frame */
	__u16
		/*
		 * in a thread, the offset of its execution context; 0 if the thread-local word leads to the
		 * context itself
		 */
		thread_context;
	__u8 has_classes; /* the walk looks for the methods of Ruby code */
	__u8 unused[3];
};

/* An execution context begins with its stack, the stack's size in words, and its frame. */
#define PFS_RUBY_CONTEXT_WORDS	 3
#define PFS_RUBY_STACK_WORDS_MAX (1ULL << 27)

/* Words of a control frame. */
#define PFS_RUBY_FRAME_PC	 0
#define PFS_RUBY_FRAME_ISEQ	 2
#define PFS_RUBY_FRAME_EP	 4
#define PFS_RUBY_FRAME_WORDS 5

/* Words at the end of an environment; the frame's ep leads to the last one. */
#define PFS_RUBY_ENV_METHOD 0 /* entry of the method, or another object; 0: none */
/* for a block, the environment around it, with flags in the lowest 2 bits */
#define PFS_RUBY_ENV_OUTER	1
#define PFS_RUBY_ENV_FLAGS	2
#define PFS_RUBY_ENV_WORDS	3

#define PFS_RUBY_FLAG_LOCAL		0x02 /* the environment of a method, not of a block in it */
#define PFS_RUBY_FLAG_FINISH	0x20 /* the loop returns to C code after this frame */
#define PFS_RUBY_FLAG_C			0x80 /* the frame has no Ruby code */
#define PFS_RUBY_KIND_MASK		0x7fff0001
#define PFS_RUBY_KIND_C			0x55550001 /* a method that is written in C */
#define PFS_RUBY_KIND_DUMMY		0x79990001 /* a thread's outermost frame, which no loop executes */
/* the outermost frame in Ruby 2.5, which has 0x99990001 */
#define PFS_RUBY_KIND_DUMMY_OLD 0x19990001

/* Words of an instruction sequence's body. */
#define PFS_RUBY_BODY_SIZE	  0 /* type, and number of words of the code */
#define PFS_RUBY_BODY_CODE	  1
#define PFS_RUBY_BODY_PATH	  8
#define PFS_RUBY_BODY_BASE	  9	 /* label of the method around a block */
#define PFS_RUBY_BODY_LABEL	  10 /* label of the code itself */
#define PFS_RUBY_BODY_FIRST	  11 /* first line of the code */
#define PFS_RUBY_BODY_WORDS	  12
#define PFS_RUBY_ISEQ_BODY	  16 /* offset in bytes, in an instruction sequence: its body */
/* Words of a method's entry: flags, class, definition, name, owner. */
#define PFS_RUBY_METHOD_WORDS 5

/* Objects begin with flags, some of whose bits are the type. */
#define PFS_RUBY_TYPE(flags) ((flags) &0x1f)
#define PFS_RUBY_INNER(flags) \
	(PFS_RUBY_TYPE(flags) == 0x1a ? (__u32) ((flags) >> 12 & 15) : 15U) /* T_IMEMO */
#define PFS_RUBY_INNER_SVAR	  2U
#define PFS_RUBY_INNER_METHOD 6U
#define PFS_RUBY_INNER_ISEQ	  7U

/* Limit of the environments between a block's and its method's. */
#define PFS_RUBY_ENVS_MAX 8

/* The payload: the number of the word after the instruction, and a check of the objects. */
#define PFS_RUBY_CHECK_BITS		36
#define PFS_RUBY_POSITION_BITS	24
#define PFS_RUBY_CHECK(payload) ((payload) & ((1ULL << PFS_RUBY_CHECK_BITS) - 1))
#define PFS_RUBY_POSITION(payload) \
	((__u32) ((payload) >> PFS_RUBY_CHECK_BITS) & PFS_RUBY_POSITION_MAX)
#define PFS_RUBY_POSITION_MAX ((1U << PFS_RUBY_POSITION_BITS) - 1)
#define PFS_RUBY_NO_CHECK	  0ULL /* the objects could not be read */

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_ruby_layout) == 8, "no hidden padding");
#endif

#endif
