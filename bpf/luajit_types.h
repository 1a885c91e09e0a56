/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * luajit_types.h
 *		Places in a state of LuaJIT 2.1 with 64-bit references, on x86-64, and the words of its
 *		frames in records: a part of runtime_types.h.
 *
 * A frame of a Lua function has two words: the function's prototype, and a payload. Built-in
 * functions have none: their code is on the machine's stack.
 */
#ifndef PFS_LUAJIT_TYPES_H
#define PFS_LUAJIT_TYPES_H

#include <linux/types.h>

struct pfs_luajit_layout {
	__u64 global; /* address of the global state */
	/*
	 * thread pointer of the thread to which global belongs; other threads' states are found through
	 * a register
	 */
	__u64 thread_pointer;
	__u64 code_start; /* code of the interpreter, half-open */
	__u64 code_end;
	__u32 dispatch; /* offset in the global state of the table to which a register leads */
	/*
	 * offset in the global state of the running state; the base of running compiled code follows it
	 */
	__u32 current;
	__u32 number; /* offset in the global state of the number of the running compiled trace */
	__u32 traces; /* offset of the reference to the list of traces; 0: none was compiled yet */
};

/* Words of a state. */
#define PFS_LUAJIT_STATE_TYPE	1 /* second byte of the word: the type of the object */
#define PFS_LUAJIT_STATE_GLOBAL 2
#define PFS_LUAJIT_STATE_BASE	4
#define PFS_LUAJIT_STATE_END	6
#define PFS_LUAJIT_STATE_STACK	7
#define PFS_LUAJIT_STATE_CALL	10 /* the interpreter's innermost frame on the machine's stack */
#define PFS_LUAJIT_STATE_WORDS	11

/* Words of a frame of the interpreter on the machine's stack, which has CALL_BYTES. */
#define PFS_LUAJIT_CALL_RESULTS \
	1 /* in the lower half; if negative, the distance in the stack of a protected call */
#define PFS_LUAJIT_CALL_STATE 2
#define PFS_LUAJIT_CALL_OUTER 4
#define PFS_LUAJIT_CALL_WORDS 5
#define PFS_LUAJIT_CALL_BYTES 80

/* Words of a function. */
/* the type is in the second byte; the third one is 0 for a Lua function */
#define PFS_LUAJIT_FUNCTION_TYPE  1
#define PFS_LUAJIT_FUNCTION_CODE  4
#define PFS_LUAJIT_FUNCTION_WORDS 5

/* Words of a prototype, which its code follows. */
#define PFS_LUAJIT_PROTO_SIZE  1 /* upper half: number of instructions */
#define PFS_LUAJIT_PROTO_CHUNK 8
#define PFS_LUAJIT_PROTO_LINES 9 /* first line, and number of lines */
#define PFS_LUAJIT_PROTO_TABLE 10
#define PFS_LUAJIT_PROTO_WORDS 13

/*
 * Words of a string: its number in the upper half of the first one, then hash and length. No other
 * string ever gets this number.
 */
#define PFS_LUAJIT_STRING_FIRST 8 /* offset of the first of them */
#define PFS_LUAJIT_STRING_WORDS 2

/* Words of a compiled trace. */
/* the type is in the second byte, the number of snapshots in the next two */
#define PFS_LUAJIT_TRACE_TYPE				  1
/* values of 8 bytes, by references of 16 bits that are less than CONSTANT_END */
#define PFS_LUAJIT_TRACE_CONSTANTS			  4
#define PFS_LUAJIT_TRACE_SNAPSHOTS			  6
#define PFS_LUAJIT_TRACE_MAP				  7
#define PFS_LUAJIT_TRACE_SIZE				  10 /* upper half: bytes of machine code */
#define PFS_LUAJIT_TRACE_CODE				  11
#define PFS_LUAJIT_TRACE_NUMBER				  13 /* lower two bytes */
#define PFS_LUAJIT_TRACE_WORDS				  14
#define PFS_LUAJIT_TRACE_SNAPSHOT_COUNT(word) ((__u32) ((word) >> 16 & 0xffff))
#define PFS_LUAJIT_CONSTANT_END				  0x8000U

/*
 * A snapshot: the state of the interpreter to which machine code from an offset on can exit. Its
 * part of the map are entries of four bytes, by ascending slot, followed by eight bytes: the
 * bytecode's address above the lowest byte.
 */
struct pfs_luajit_snapshot {
	__u32 map; /* number of its first entry */
	__u16 unused;
	__u16 offset; /* in the trace's machine code */
	__u8 slots;
	__u8 top;
	__u8 entries;
	__u8 count;
};

/* An entry of the map: slot, flags, and reference to the value that is in the slot. */
#define PFS_LUAJIT_ENTRY_SLOT(entry)	  ((entry) >> 24)
#define PFS_LUAJIT_ENTRY_REFERENCE(entry) ((entry) &0xffff)
#define PFS_LUAJIT_ENTRY_FRAME			  0x10000U /* a frame's link; its function is before it */

#define PFS_LUAJIT_TYPE(word)		((__u32) ((word) >> 8 & 255))
#define PFS_LUAJIT_TYPE_STATE		6U
#define PFS_LUAJIT_TYPE_FUNCTION	8U
#define PFS_LUAJIT_TYPE_TRACE		9U
#define PFS_LUAJIT_IS_BUILTIN(word) (((word) >> 16 & 255) != 0)

/* References are addresses of 47 bits, with a type in the upper bits. */
#define PFS_LUAJIT_REFERENCE(word)	 ((word) & ((1ULL << 47) - 1))
#define PFS_LUAJIT_IS_FUNCTION(word) ((word) >> 47 == 0x1fff7)

/* Three bits of a frame's link that give its type; the rest is the distance to the frame before. */
/* type of two bits, whose link is an address in the caller's code and not a distance */
#define PFS_LUAJIT_LINK_LUA		 0
#define PFS_LUAJIT_LINK_C		 1
#define PFS_LUAJIT_LINK_CONTINUE 2
#define PFS_LUAJIT_LINK_VARARG	 3

/* The payload: the number of the instruction after the executed one, and a check. */
#define PFS_LUAJIT_CHECK_BITS	  36
#define PFS_LUAJIT_POSITION_BITS  24
#define PFS_LUAJIT_CHECK(payload) ((payload) & ((1ULL << PFS_LUAJIT_CHECK_BITS) - 1))
#define PFS_LUAJIT_POSITION(payload) \
	((__u32) ((payload) >> PFS_LUAJIT_CHECK_BITS) & PFS_LUAJIT_POSITION_MAX)
#define PFS_LUAJIT_POSITION_MAX ((1U << PFS_LUAJIT_POSITION_BITS) - 1)
#define PFS_LUAJIT_NO_CHECK		0ULL /* the prototype could not be read */

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_luajit_snapshot) == 12, "as LuaJIT has it");
_Static_assert(sizeof(struct pfs_luajit_layout) == 48, "no hidden padding");
#endif

#endif
