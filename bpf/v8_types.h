/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * v8_types.h
 *		Words about V8's frames: a part of runtime_types.h.
 *
 * V8's frames lie on the machine's stack and have frame pointers, so the walk finds them. Each one
 * that belongs to a function of a script is described in the chain by three words:
 *
 *		address of the SharedFunctionInfo
 *		check: 36 bits, bytecode offset: 24 bits
 *		address of the bytecode array / 8: 45 bits, number of the machine's frame: 12 bits
 *
 * The innermost frame of the machine's stack (number 0) may have a fourth word: the return address
 * of code that has no frame of its own. Many of V8's own functions make no frame, and the frame
 * pointer is then that of their caller. The word means nothing if the code has a frame.
 *
 * For a waiting thread the machine's stack was not walked yet. Then the number is the frame's
 * position: 8-byte words from the stack pointer to the frame pointer.
 *
 * The garbage collector moves closures, so the SharedFunctionInfo is found when the sample is
 * taken.
 */
#ifndef PFS_V8_TYPES_H
#define PFS_V8_TYPES_H

#include <linux/types.h>

#define PFS_V8_SLOT_WORDS	8 /* words read below a frame pointer */
#define PFS_V8_SHARED_WORDS 8 /* words read of a SharedFunctionInfo */

/* Offsets count words of the block that is read at once, except offsets in bytes. */
struct pfs_v8_layout {
	__u8 slot_context; /* in the words below the frame pointer, of which the lowest has index 0 */
	__u8 slot_function;
	__u8 slot_bytecodes;
	__u8 slot_offset;
	__u8 shared_name; /* in a SharedFunctionInfo: name or ScopeInfo */
	__u8 shared_script;
	__u8 shared_length; /* lower half: length, and number of parameters */
	__u8 script_id;
	__u16 function_shared; /* offset in bytes in a JSFunction */
	__u16 map_type;		   /* offset in bytes in a Map: the instance type */
	__u16 script_type;	   /* the instance type of scripts */
	__u16 unused;
};

/*
 * In addresses of objects the lowest bits are 01; small integers are in the upper half of a word.
 */
#define PFS_V8_IS_OBJECT(word) (((word) &3) == 1)
#define PFS_V8_OBJECT(word)	   ((word) -1)
#define PFS_V8_IS_SMALL(word)  (((word) &0xffffffffULL) == 0)

#define PFS_V8_CHECK_BITS	  36
#define PFS_V8_OFFSET_BITS	  24
#define PFS_V8_BYTECODES_BITS 45
#define PFS_V8_NUMBER_BITS	  12
#define PFS_V8_PLACES		  (1U << PFS_V8_NUMBER_BITS)
#define PFS_V8_NO_OFFSET	  ((1U << PFS_V8_OFFSET_BITS) - 1)

#define PFS_V8_CHECK(payload) ((payload) & ((1ULL << PFS_V8_CHECK_BITS) - 1))
#define PFS_V8_OFFSET(payload) \
	((__u32) ((payload) >> PFS_V8_CHECK_BITS) & ((1U << PFS_V8_OFFSET_BITS) - 1))
#define PFS_V8_BYTECODES(payload) (((payload) & ((1ULL << PFS_V8_BYTECODES_BITS) - 1)) << 3)
#define PFS_V8_NUMBER(payload) \
	((__u32) ((payload) >> PFS_V8_BYTECODES_BITS) & ((1U << PFS_V8_NUMBER_BITS) - 1))

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_v8_layout) == 16, "no hidden padding");
#endif

#endif
