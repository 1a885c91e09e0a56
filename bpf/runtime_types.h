/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * runtime_types.h
 *		The format of interpreters' stacks in records: a part of events.h.
 *
 * An interpreter links its frames in the process's memory. The programs follow that chain at the
 * moment of the sample, beside the machine's stack, and append it to the record:
 *
 *		| pfs_chain, 32 bytes | end_count × u32, to 8 bytes | words × u64 |
 *
 * The words are frames with PFS_FRAME_MORE, innermost first, and marks. A mark is a word without
 * PFS_FRAME_MORE: an address on the machine's stack, inside the frame of the interpreter's loop
 * that executes the frames before the mark, or 0 if loops are counted. The ends are the places of
 * the machine's frames on its stack, by which the collector merges the two stacks
 * (collector/runtimes).
 */
#ifndef PFS_RUNTIME_TYPES_H
#define PFS_RUNTIME_TYPES_H

#include <linux/types.h>

#include "luajit_types.h"
#include "ruby_types.h"
#include "v8_types.h"

/*
 * The interpreter that linked a chain; also a frame's PFS_FRAME_INTERPRETER. The largest possible
 * value is 15.
 */
enum pfs_runtime_kind {
	PFS_RUNTIME_NONE = 0,
	PFS_RUNTIME_PYTHON,
	PFS_RUNTIME_PHP,
	PFS_RUNTIME_PERL,
	PFS_RUNTIME_RUBY,
	PFS_RUNTIME_LUAJIT,
	PFS_RUNTIME_V8,
	PFS_RUNTIME_HOTSPOT
};

/* HotSpot's frames are on the machine's stack, and are found by the walk of that stack. */
#define pfs_has_chain(kind) ((kind) != PFS_RUNTIME_NONE && (kind) != PFS_RUNTIME_HOTSPOT)

/* The number of the interpreter's frames that one frame of its loop executes. */
enum pfs_runtime_marks {
	PFS_MARKS_NONE = 0, /* there is one loop, without marks (CPython up to 3.10) */
	/* all frames up to one that was entered from C code (CPython 3.11) */
	PFS_MARKS_ENTRY,
	/* all frames up to a shim frame, which is on the machine's stack (CPython 3.12 and later) */
	PFS_MARKS_SHIM,
	/*
	 * all frames up to a mark, which is 0: the n-th loop executes the frames before the n-th mark
	 */
	PFS_MARKS_COUNTED,
	/* one frame; each has the number of the machine's frame that it describes (V8) */
	PFS_MARKS_NUMBERS,
	/* one frame; each has the position on the stack of the machine's frame that it describes */
	PFS_MARKS_PLACES
};

#define PFS_RUNTIME_PROCESSES 8192

/* number of words that are read of a frame; memory after them may be unreadable */
#define PFS_FRAME_BLOCK_WORDS	   11
#define PFS_FRAME_BLOCK_MOST_WORDS 16
#define PFS_CODE_BLOCK_WORDS	   12
#define PFS_CODE_BLOCK_MOST_WORDS  32

/*
 * Offsets of the fields of CPython's frames and code objects. Offsets into blocks that are read at
 * once count words, all others bytes.
 */
struct pfs_python_layout {
	__u16 state_frame; /* in the state: the innermost frame, or a record that leads to it */
	/* in the record, if has_record: the innermost frame, then the record of the loop's caller */
	__u16 record_frame;
	__u16 code_first; /* in a code object: the first of PFS_CODE_BLOCK_WORDS words that are read */
	__u16 code_mask;  /* bit i: the check of the object covers word i of the code object */
	__u16 name_hash;  /* in a string: the hash */
	__u8 has_record;
	__u8 wide_frames; /* a frame's block has PFS_FRAME_BLOCK_MOST_WORDS */
	__u8 frame_code;
	__u8 frame_previous;
	__u8 frame_instruction;
	__u8 frame_owner; /* offset in bytes */
	/* value of the owner field in the frame that begins a run of the loop */
	__u8 boundary;
	/* word that leads to the name, whose hash is part of the check; 0 if the hash is not used */
	__u8 code_name;
	__u8 is_index; /* frame_instruction is an index, not an address */
	/* Threads execute copies of bytecode (free-threaded builds from 3.14 on): */
	__u8 frame_copy;	/* number of the frame's copy, in words of four bytes; 0: no copies */
	__u8 code_copies;	/* word of a code object that leads to the list of its copies */
	__u8 code_bytecode; /* word of a code object at which its own bytecode begins, copy 0 */
	/* value of the owner field in frames that have a caller, except while they are half made */
	__u8 called;
	__u8 unused;
};

/*
 * PHP's state, of the process or of each thread, and offsets of the fields of its functions
 * (php_frame.h).
 */
struct pfs_php_layout {
	__u64 current; /* address of the word that leads to the innermost frame */
	/* thread pointer of the thread that executes PHP, unless has_threads is set */
	__u64 thread_pointer;
	__u64 loop_start; /* code of the loop, half-open */
	__u64 loop_end;
	__u64 compiled_start; /* code of PHP's JIT compiler, half-open; both 0 if there is none */
	__u64 compiled_end;
	/* position of the number of instructions in a function, in words of four bytes */
	__u8 function_last;
	/*
	 * word of eight bytes, in a function, with the address of its instructions; the next fields are
	 * such words, too
	 */
	__u8 function_opcodes;
	__u8 function_file;
	__u8 function_lines;
	/* current is an offset from the address in the thread-local variable at state_offset */
	__u8 has_threads;
	__u8 unused[3];
};

/*
 * Returns the address in the loop whose unwind rule applies to a frame of compiled code, because it
 * shares the loop's frame; 0: the address is not in compiled code.
 */
static inline __u64
pfs_php_rule_address(const struct pfs_php_layout *layout, __u64 address)
{
	if (address < layout->compiled_start || address >= layout->compiled_end)
		return 0;
	return layout->loop_start + (layout->loop_end - layout->loop_start) / 2;
}

/* Offsets in Perl's interpreter, stacks and contexts (perl.bpf.h). */
struct pfs_perl_layout {
	/*
	 * offsets in bytes, in the interpreter, of the executed statement and of the innermost stack;
	 * in Perl without threads, addresses
	 */
	__u64 state_cop;
	__u64 state_stack;
	__u64 thread_pointer;  /* in Perl without threads: that of the thread that executes Perl */
	__u8 stack_type;	   /* in words of four bytes */
	__u8 context_function; /* in words of eight bytes */
	__u8 has_short_contexts;
	/* the name of a package follows its body (Perl 5.36 and later), otherwise its array */
	__u8 has_names_behind_body;
	/*
	 * Perl was built without threads: the interpreter's variables are global, and a statement
	 * refers to the glob of its file
	 */
	__u8 is_single;
	__u8 unused[3];
};

#define PFS_HOTSPOT_HEAPS	   3
#define PFS_HOTSPOT_HEAD_BYTES 128 /* bytes read of the description of a piece of code */

/* A heap of code that HotSpot generated. */
struct pfs_hotspot_heap {
	__u64 low; /* half-open; both 0: there is none */
	__u64 high;
	__u64 segments; /* address of the segment map, a byte for each segment */
};

/* HotSpot's heaps of code, and offsets of fields. Those in descriptions are below HEAD_BYTES. */
struct pfs_hotspot_layout {
	struct pfs_hotspot_heap heaps[PFS_HOTSPOT_HEAPS];
	__u16 compile_id;	  /* in a compiled method's description */
	__u8 segment_bits;	  /* a segment has 1 << segment_bits bytes */
	__u8 block_header;	  /* bytes before a description */
	__u8 name;			  /* offset in a description, like the following fields */
	__u8 code;			  /* field that says where the code begins */
	__u8 code_is_offset;  /* code is an offset from the description, not an address */
	__u8 frame_size;	  /* field with the size of the frame in words */
	__u8 frame_complete;  /* first instruction at which frames have that size */
	__u8 method_constant; /* offset in a method of its constant part */
	__u8 constant_bytes;  /* bytes of the constant part before the bytecode */
	__u8 bytecode_slot;	  /* in the interpreter's frame: bytes below the frame pointer */
	__u8 size;			  /* field with the size of the description in bytes, including the code */
	__u8 unused[3];
	__u64 unloaded; /* address of the number of classes that were unloaded; 0: unknown */
};

#define PFS_RUNTIME_WORDS 12 /* words of the largest layout of an interpreter */

/* A process's interpreter: the place of a thread's state, and the layout of its structures. */
struct pfs_runtime {
	__u64 start_time_ns; /* start time of the image, as in struct pfs_sample */
	__u64 exec_id;
	/*
	 * offset of the word that leads to the thread's state, from the thread pointer or, if
	 * state_pointer is not 0, from the address in the word at state_pointer
	 */
	__s32 state_offset;
	__u8 kind;		/* enum pfs_runtime_kind */
	__u8 is_placed; /* the place of threads' states is known */
	__u8 marks;		/* enum pfs_runtime_marks */
	/* distance from the thread pointer, in words, of a pointer to the values of keys; 0: none */
	__s8 state_pointer;
	union {
		struct pfs_python_layout python;
		struct pfs_php_layout php;
		struct pfs_perl_layout perl;
		struct pfs_ruby_layout ruby;
		struct pfs_hotspot_layout hotspot;
		struct pfs_luajit_layout luajit;
		struct pfs_v8_layout v8;
		__u64 words[PFS_RUNTIME_WORDS];
	};
};

#define PFS_LOWEST_ADDRESS	(1ULL << 16)
#define PFS_HIGHEST_ADDRESS (1ULL << 48)

/* Returns whether an object of a runtime may have this address. */
static inline int
pfs_is_object(__u64 address)
{
	return address >= PFS_LOWEST_ADDRESS && address < PFS_HIGHEST_ADDRESS && !(address & 7);
}

/* The reason why the walk of a chain ended. */
enum pfs_chain_status {
	PFS_CHAIN_RUNNING = 0,
	PFS_CHAIN_WHOLE,
	PFS_CHAIN_NO_PLACE, /* the collector has not found the place of threads' states yet */
	PFS_CHAIN_NO_STATE, /* the thread has no state: it never ran the interpreter */
	PFS_CHAIN_UNREADABLE,
	PFS_CHAIN_BAD, /* an address is misaligned or out of range */
	PFS_CHAIN_TOO_DEEP,
	PFS_CHAIN_OUT_OF_TIME
};

struct pfs_chain {
	__u64 thread_pointer;
	__u64 first_sp; /* stack pointer of the machine's innermost frame */
	__u32 found;	/* number of words found; pfs_chain_kept() of them are in the record */
	__u16 mark_count;
	__u16 end_count; /* number of the machine's frames in the record; 0: their ends are unknown */
	__u8 kind;		 /* enum pfs_runtime_kind */
	__u8 status;	 /* enum pfs_chain_status */
	__u8 marks;		 /* enum pfs_runtime_marks */
	__u8 unused[5];
};

/*
 * An end is the distance from first_sp to the caller's stack pointer, in units of 8 bytes. This
 * value means unknown.
 */
#define PFS_END_UNKNOWN 0xffffffffU

#define PFS_CHAIN_LEAF_WORDS 768
#define PFS_CHAIN_ROOT_WORDS 256
#define PFS_CHAIN_KEPT_WORDS (PFS_CHAIN_LEAF_WORDS + PFS_CHAIN_ROOT_WORDS)
#define PFS_CHAIN_MAX_FRAMES 2048						/* frames that the walk follows */
#define PFS_CHAIN_MAX_WORDS	 (5 * PFS_CHAIN_MAX_FRAMES) /* four words of a frame, and a mark */

/*
 * If a list is too long, its first words (leaves) and its last ones (roots) are kept: each word's
 * number gives its position, which a later word may overwrite. Returns the number of kept words of
 * count words.
 */
static inline __u32
pfs_kept_words(__u32 count, __u32 leaves, __u32 roots)
{
	return count < leaves + roots ? count : leaves + roots;
}

/* Returns the position of a word in a list of words by its number. */
static inline __u32
pfs_kept_place(__u32 number, __u32 leaves, __u32 roots)
{
	return number < leaves ? number : leaves + (number - leaves) % roots;
}

/* Returns the number of kept words of a chain of count words. */
static inline __u32
pfs_chain_kept(__u32 count)
{
	return pfs_kept_words(count, PFS_CHAIN_LEAF_WORDS, PFS_CHAIN_ROOT_WORDS);
}

/* Returns the position of a chain's word by its number. */
static inline __u32
pfs_chain_place(__u32 number)
{
	return pfs_kept_place(number, PFS_CHAIN_LEAF_WORDS, PFS_CHAIN_ROOT_WORDS);
}

/*
 * The second word of Python's frames: the instruction in the code, and a check, which is a hash of
 * the code object. The memory of a freed object may soon contain another object, whose check
 * differs.
 */
#define PFS_PYTHON_CHECK_BITS	  36
#define PFS_PYTHON_INDEX_BITS	  24
#define PFS_PYTHON_CHECK(payload) ((payload) & ((1ULL << PFS_PYTHON_CHECK_BITS) - 1))
#define PFS_PYTHON_INDEX(payload) \
	((__u32) ((payload) >> PFS_PYTHON_CHECK_BITS) & ((1U << PFS_PYTHON_INDEX_BITS) - 1))
#define PFS_PYTHON_NO_CHECK 0ULL /* the object could not be read */

/*
 * The second word of HotSpot's frames. The first one is the address of a method, or of the
 * description of code:
 *
 *		interpreted  the bytecode's place in the method's constant part, and pfs_hotspot_check()
 *		compiled     PFS_HOTSPOT_AT_*, pc's place in the code, and the compilation's id
 *		stub         the first four bytes of its name
 */
enum pfs_hotspot_frame {
	PFS_HOTSPOT_FRAME_INTERPRETED = 0,
	PFS_HOTSPOT_FRAME_COMPILED,
	PFS_HOTSPOT_FRAME_STUB
};
#define PFS_HOTSPOT_PLACE_BITS	   17
#define PFS_HOTSPOT_CHECK_BITS	   41
#define PFS_HOTSPOT_PC_BITS		   24
#define PFS_HOTSPOT_STUB(name)	   ((__u64) PFS_HOTSPOT_FRAME_STUB | (__u64) (name) << 2)
#define PFS_HOTSPOT_NAME(payload)  ((__u32) ((payload) >> 2))
#define PFS_HOTSPOT_FRAME(payload) ((__u32) (payload) &3)
#define PFS_HOTSPOT_INTERPRETED(place, check) \
	((__u64) PFS_HOTSPOT_FRAME_INTERPRETED | (place) << 2 | (check) << (2 + PFS_HOTSPOT_PLACE_BITS))
#define PFS_HOTSPOT_PLACE(payload) ((__u32) ((payload) >> 2) & ((1U << PFS_HOTSPOT_PLACE_BITS) - 1))
#define PFS_HOTSPOT_CHECK(payload) ((payload) >> (2 + PFS_HOTSPOT_PLACE_BITS))
#define PFS_HOTSPOT_AT_RETURN	   1ULL /* pc is a return address */
#define PFS_HOTSPOT_AT_JUMP		   2ULL /* pc is at a jump, after which other code begins */
#define PFS_HOTSPOT_COMPILED(at, pc, id)                      \
	((__u64) PFS_HOTSPOT_FRAME_COMPILED | (__u64) (at) << 2 | \
	 ((pc) & ((1ULL << PFS_HOTSPOT_PC_BITS) - 1)) << 4 |      \
	 (__u64) (id) << (4 + PFS_HOTSPOT_PC_BITS))
#define PFS_HOTSPOT_AT(payload) ((payload) >> 2 & 3)
#define PFS_HOTSPOT_PC(payload) ((__u32) ((payload) >> 4) & ((1U << PFS_HOTSPOT_PC_BITS) - 1))
#define PFS_HOTSPOT_ID(payload) ((__u32) ((payload) >> (4 + PFS_HOTSPOT_PC_BITS)))

/*
 * Data read by the step over generated code. The arrays have extra bytes so that the kernel accepts
 * reads from the last position.
 */
#define PFS_CODE_BYTES	  64
#define PFS_SETUP_BYTES	  40 /* bytes of instructions that set up a frame */
#define PFS_LEAVING_BYTES 48 /* bytes of the instructions that leave a method */
#define PFS_LEAVING_STEPS 9	 /* most instructions that leave a method */
struct pfs_code_walk {
	__u64 frame; /* first word of the frame */
	__u64 blob;	 /* address of the description of the code */
	/* end of the code; start and end are kept, because the next frame often has the same code */
	__u64 end;
	__u64 head[PFS_HOTSPOT_HEAD_BYTES / 8 + 1];
	__u8 bytes[PFS_CODE_BYTES + 16]; /* instructions from pc on */
	__u32 name;						 /* first bytes of the description's name */
	__u32 next;						 /* byte offset of the command that is examined */
	__u32 ahead;					 /* byte offset at which the search ends */
	__u32 removed;					 /* bytes of the stack that the leaving instructions remove */
	/* one of the leaving instructions restores the frame pointer */
	__u8 popped;
	__u8 state;		   /* enum pfs_frame_state */
	__u8 has_unloaded; /* unloaded was read during this walk */
	__u8 unused;
	__u64 unloaded; /* number of classes that were unloaded */
};

#define PFS_HASH_FACTOR 0x9e3779b97f4a7c15ULL

static inline __u64
pfs_hash_step(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * PFS_HASH_FACTOR;
	return hash ^ hash >> 32;
}

/*
 * Returns the check of an interpreted frame. A class's memory is only used again after the number
 * of unloaded classes has grown, so a method with the same check is the method that was sampled.
 */
static inline __u64
pfs_hotspot_check(__u64 constant, __u64 unloaded)
{
	return pfs_hash_step(pfs_hash_step(0, constant), unloaded) >> (64 - PFS_HOTSPOT_CHECK_BITS);
}

/* A macro without branches, because the kernel would verify both ways of each branch. */
#define pfs_hash_masked(hash, words, mask, i) \
	pfs_hash_step(hash, (words)[i] & (0 - (__u64) ((mask) >> (i) &1)))

/* Returns the hash as a check, which is never PFS_PYTHON_NO_CHECK. */
static inline __u64
pfs_python_check(__u64 hash)
{
	return hash >> (64 - PFS_PYTHON_CHECK_BITS) | 1;
}

/*
 * Returns the check of a function, which differs for another function at its address. A script's id
 * is never reused.
 */
static inline __u64
pfs_v8_check(__u64 script_id, __u64 name, __u64 length)
{
	__u64 hash = pfs_hash_step(pfs_hash_step(script_id, name), length & 0xffffffffULL);

	return hash >> (64 - PFS_V8_CHECK_BITS) | 1;
}

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_runtime) == 24 + 8 * PFS_RUNTIME_WORDS, "no hidden padding");
_Static_assert(sizeof(struct pfs_python_layout) == 24, "no hidden padding");
_Static_assert(sizeof(struct pfs_php_layout) == 56, "no hidden padding");
_Static_assert(sizeof(struct pfs_perl_layout) == 32, "no hidden padding");
_Static_assert(sizeof(struct pfs_chain) == 32, "no hidden padding");
#endif

#endif
