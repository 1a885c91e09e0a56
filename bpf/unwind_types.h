/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_types.h
 *		The unwind tables that the walk reads: a part of events.h.
 *
 * A process has a sorted run of *mappings*; a mapping refers to its binary's *directory*, which has
 * an entry for each page, 4 KiB of ELF addresses; a page has a sorted run of *rows*; a row contains
 * the number of a *rule*, which all binaries share:
 *
 *   pid ──► pfs_unwind_process ──► pfs_unwind_mapping[first .. first + count)
 *   mapping.directory ──► pfs_unwind_page: head { low page, pages }, then one entry per page
 *   page ──► pfs_unwind_line[first_line ..], 16 rows each; row.rule ──► pfs_unwind_rule
 *
 * Rows take 4 bytes (a page offset and a rule number); there are few rules: some thousand for all
 * of a system's binaries. Runs are written before the entry that refers to them, and reused some
 * time after the entry was removed, so that a walk never follows an entry into another run.
 */
#ifndef PFS_UNWIND_TYPES_H
#define PFS_UNWIND_TYPES_H

#include <linux/types.h>

#include "runtime_types.h"
#include "thread_labels.h"

/*
 * With the registers of a frame:
 *
 *   CFA       = value(cfa_register) + cfa_offset               for PFS_UNWIND_CFI
 *   CFA       = *(value(cfa_register) + cfa_offset) + cfa_add   with PFS_UNWIND_CFA_DEREF
 *               plus 8 * value(index register) before *(...)    with PFS_UNWIND_INDEX too
 *   caller pc = *(CFA + ra_offset), or ra_register with PFS_UNWIND_RA_IN_REGISTER
 *   caller fp = fp (PFS_FP_SAME), *(CFA + fp_offset) (PFS_FP_AT_CFA),
 *               *(fp + fp_offset) (PFS_FP_AT_FP)
 *   caller sp = CFA
 *
 * Registers have their DWARF numbers (System V x86-64 psABI table 3.36; AArch64 DWARF ABI section
 * 4.1). Only stack and frame pointer are tracked from frame to frame, and on x86-64 the place where
 * rbx is saved, because the dynamic loader's code for first calls keeps its frame in it. A rule on
 * any other register can be applied to the innermost frame, whose registers the kernel has all
 * saved, and with checks to the frame that called it: hand-written code keeps its frame in a
 * register that its own helpers preserve.
 */
enum pfs_unwind_kind {
	PFS_UNWIND_INVALID =
		0,			/* nothing is known: no CFI covers the code, or rules cannot express it */
	PFS_UNWIND_CFI, /* the formulas above apply */
	PFS_UNWIND_END_OF_STACK, /* the return address is undefined: a proven root */
	/* a lazy PLT entry: CFA = sp + 8, and 8 more from byte plt_threshold of each 16 bytes on */
	PFS_UNWIND_PLT,
	PFS_UNWIND_SIGNAL /* signal trampoline: the registers are in the frame that the kernel pushed */
};

enum pfs_unwind_fp {
	PFS_FP_SAME = 0,
	PFS_FP_AT_CFA,
	PFS_FP_AT_FP,
	PFS_FP_LOST /* overwritten, or saved in a form that rules cannot express */
};

/* Odd, unlike all offsets. */
#define PFS_BX_LOST 1

#define PFS_UNWIND_CFA_DEREF	  0x01
#define PFS_UNWIND_RA_IN_REGISTER 0x02
/* the caller's frame may be on another stack (Go's system stacks) */
#define PFS_UNWIND_OTHER_STACK	  0x04
/* upper half of the flags: number of an index register (frames after an array); 0: none */
#define PFS_UNWIND_INDEX_MASK	  0xf0
#define PFS_UNWIND_INDEX(flags)	  ((flags) >> 4)

/*
 * Unit, in bytes, of the offsets of saved registers. AArch64 code saves them at the low end of
 * frames of any size, at multiples of 8; on x86-64 the return address is at the end of the frame.
 */
#define PFS_UNWIND_UNIT_X86_64	1
#define PFS_UNWIND_UNIT_AARCH64 8

struct pfs_unwind_rule {
	__u8 kind; /* enum pfs_unwind_kind */
	__u8 cfa_register;
	__u8 fp; /* enum pfs_unwind_fp */
	__u8 flags;
	__s32 cfa_offset; /* in bytes */
	__s16 fp_offset;  /* in units of PFS_UNWIND_UNIT */
	union {
		__s16 ra_offset;	 /* distance from the CFA in units of PFS_UNWIND_UNIT */
		__s16 ra_register;	 /* register of the return address, with PFS_UNWIND_RA_IN_REGISTER */
		__s16 plt_threshold; /* for PFS_UNWIND_PLT */
	};
	__s16 cfa_add; /* in bytes, with PFS_UNWIND_CFA_DEREF */
	/*
	 * bytes from the CFA to the saved rbx of the caller; 0: in its register, PFS_BX_LOST: unknown
	 */
	__s16 bx_offset;
};

/*
 * Sizes of the kernel's tables. Lines, entries and mappings begin with small tables and grow, up to
 * the collector's limits, which are at least these.
 */
#define PFS_UNWIND_CHUNK_LINES	  4096 /* 256 KiB */
#define PFS_UNWIND_CHUNKS		  64
#define PFS_UNWIND_ENTRIES		  524288 /* 4 MiB: a quarter is 512 MiB of code */
#define PFS_UNWIND_ENTRIES_FIRST  16384	 /* 128 KiB: 64 MiB of code */
#define PFS_UNWIND_MAPPINGS		  65536	 /* 2 MiB */
#define PFS_UNWIND_MAPPINGS_FIRST 4096	 /* 128 KiB */
#define PFS_UNWIND_RULES		  16384	 /* 256 KiB */
#define PFS_UNWIND_PROCESSES	  8192

/*
 * Pages are small, so that directories have many entries and few lines must be searched: each step
 * of the search misses the CPU's caches, because the walk runs only twenty times a second.
 */
#define PFS_UNWIND_PAGE_BITS 12
#define PFS_UNWIND_LINE_ROWS 16

/*
 * A rule holds from its offset in the page to the next row's; each page has a row at the offset of
 * its first code.
 */
struct pfs_unwind_row {
	__u16 offset;
	__u16 rule;
};

/* A cache line of rows: the walk finds the line by binary search, then the row in it. */
struct pfs_unwind_line {
	/* unused rows at the end repeat the last row */
	struct pfs_unwind_row rows[PFS_UNWIND_LINE_ROWS];
};

/* Entry of a binary's directory. */
struct pfs_unwind_page {
	__u32 first_line;
	__u32 line_count; /* 1 .. 256; 0: the page has no rules */
};

/* Flag in .line_count: the page has lines, but they are not loaded, and walks end there. */
#define PFS_UNWIND_NOT_LOADED (1U << 31)

#define PFS_UNWIND_UNKNOWN_RULE PFS_UNWIND_RULES /* rule of pages that are not loaded */

/* The first entry of a directory: the range of pages that its other entries describe. */
#define PFS_UNWIND_MOST_PAGE  ((1ULL << 40) - 1) /* limit of the fields */
#define PFS_UNWIND_MOST_PAGES ((1ULL << 24) - 1)
struct pfs_unwind_directory {
	__u64
		low_page : 40; /* ELF virtual address, or that of generated code, >> PFS_UNWIND_PAGE_BITS */
	__u64 page_count : 24;
};

union pfs_unwind_entry {
	struct pfs_unwind_directory head;
	struct pfs_unwind_page page;
	__u64 word; /* an entry is read and written as one word, because walks read it at any time */
};

enum pfs_mapping_kind {
	PFS_MAPPING_PENDING = 0, /* the unwind table of the mapping's binary is not loaded yet */
	PFS_MAPPING_TABLE,		 /* rules from .directory */
	/*
	 * rules read from the process's memory; used only in user space, which knows whether they are
	 * valid
	 */
	PFS_MAPPING_JIT,
	/* code built with frame pointers (Go, JIT compilers), or without any CFI */
	PFS_MAPPING_FRAME_POINTER
};

struct pfs_unwind_mapping {
	__u64 start; /* process addresses, half-open */
	__u64 end;
	__u64 bias;		 /* process address - bias = ELF virtual address */
	__u32 directory; /* number of its first entry, for PFS_MAPPING_TABLE */
	/* enum pfs_mapping_kind; from PFS_MAPPING_KIND_BITS on the table's number, 0: none */
	__u32 kind;
};

/* In one word, so that a walk reads kind and number of the same table. */
#define PFS_MAPPING_KIND_BITS	   8
#define PFS_MAPPING_MOST_TABLES	   ((1U << (32 - PFS_MAPPING_KIND_BITS)) - 1)
#define pfs_mapping_kind(mapping)  ((mapping)->kind & ((1U << PFS_MAPPING_KIND_BITS) - 1))
#define pfs_mapping_table(mapping) ((mapping)->kind >> PFS_MAPPING_KIND_BITS)

/*
 * Cache of found rules by place: an array of words that all CPUs share, each read and written as a
 * whole. A place consists of the table's number, which is never reused, and an ELF address.
 * Multiplying it by an odd number permutes places; the upper bits of the product are the slot, and
 * the other bits are stored in it, above the rule's number.
 */
#define PFS_RECENT_ADDRESS_BITS 36
#define PFS_RECENT_PLACE_BITS	(PFS_RECENT_ADDRESS_BITS + 32 - PFS_MAPPING_KIND_BITS)
#define PFS_RECENT_SLOT_BITS	15 /* 256 KiB */
#define PFS_RECENT_TAG_BITS		(PFS_RECENT_PLACE_BITS - PFS_RECENT_SLOT_BITS)
#define PFS_RECENT_RULE_BITS	16
#define PFS_RECENT_FACTOR		0x9e3779b97f4a7c15ULL /* odd; 2^64 over the golden ratio */

struct pfs_unwind_process {
	__u64 start_time_ns; /* start time of the image, as in struct pfs_sample */
	__u64 exec_id;
	__u32 first;
	__u32 count; /* mappings, ascending and disjoint */
	struct pfs_label_place labels;
};

/* Number of registers, by DWARF number, and their position in a signal frame. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define PFS_ARM64			 1
#define PFS_REGISTER_COUNT	 33
#define PFS_REGISTER_FP		 29
#define PFS_REGISTER_LR		 30
#define PFS_REGISTER_SP		 31
#define PFS_REGISTER_PC		 32
#define PFS_UNWIND_UNIT		 PFS_UNWIND_UNIT_AARCH64
/* offset from sp: siginfo 128, ucontext up to uc_mcontext.regs 184 */
#define PFS_SIGNAL_REGISTERS 312
#else
#define PFS_REGISTER_COUNT	 17
#define PFS_REGISTER_DX		 1
#define PFS_REGISTER_BX		 3
#define PFS_REGISTER_FP		 6
#define PFS_REGISTER_SP		 7
#define PFS_REGISTER_R14	 14
#define PFS_REGISTER_PC		 16
#define PFS_UNWIND_UNIT		 PFS_UNWIND_UNIT_X86_64
#define PFS_SIGNAL_REGISTERS 40 /* offset from sp: ucontext up to uc_mcontext.gregs */
#endif

/*
 * A call whose return is traced (uretprobe), so that the kernel has replaced its return address:
 * the stack pointer at the function's entry, and the original address.
 */
struct pfs_traced_return {
	__u64 stack;
	__u64 address;
};

#define PFS_TRACED_RETURNS	 8	/* limit of nested traced calls */
#define PFS_TRAMPOLINE_BYTES 64 /* longer than the trampoline of any architecture */

/* The position of a walk: the registers of one frame. Sufficient to continue it elsewhere. */
struct pfs_walk_state {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 bx_at; /* where rbx is saved; 0: in its register, PFS_BX_LOST: unknown */
	__u64 registers[PFS_REGISTER_COUNT]; /* by DWARF number; valid while innermost is set */
	__u8 innermost;						 /* the sampled frame, or one that a signal interrupted */
	__u8 is_return;						 /* pc is a return address */
	__u8 by_fp;							 /* pc was found by frame pointer */
	__u8 above; /* the frame called an innermost one, so its registers are known */
	__u8 unused[4];
	__u64 trampoline; /* address that replaces traced return addresses; 0: no call is traced */
	__u64 arguments;  /* start of the process's arguments; 0: unknown */
	struct pfs_traced_return traced[PFS_TRACED_RETURNS]; /* innermost first; address 0: unused */
};

/* A piece of the stack that was read in one call. */
#define PFS_WINDOW_WORDS  32
#define PFS_NO_WINDOW	  (1ULL << 63 | 1) /* a start beyond all addresses of user space */
#define PFS_WINDOW_BEFORE 56 /* bytes before the requested word, where registers are saved */
struct pfs_stack_window {
	__u64 start;
	__u64 words[PFS_WINDOW_WORDS];
};

/* State of a walk. */
#define PFS_STEP_MORE 1 /* further words of a frame, at most */
struct pfs_walk {
	struct pfs_walk_state at;
	struct pfs_unwind_mapping mapping; /* mapping of the current pc */
	/* the previous mapping, because calls often alternate between two */
	struct pfs_unwind_mapping before;
	struct pfs_unwind_process process;
	/* this and the fields below: used only by the walk in the kernel */
	struct pfs_stack_window window;
	__u64 word;				   /* the last word read */
	struct pfs_code_walk code; /* state of the walk over a runtime's code */
	__u64 more[PFS_STEP_MORE]; /* further words of the frame that was found last */
	__u16 count;			   /* words found */
	__u8 status;			   /* enum pfs_walk_status */
	__u8 more_count;		   /* number of words in more, which count does not include */
};

/*
 * Limit of the frames in a record. Of a deeper stack the innermost and the outermost frames are
 * kept, so that the stack keeps its root; the middle is cut out.
 */
#define PFS_MAX_USER_FRAMES 512
#define PFS_ROOT_FRAMES		128
#define PFS_LEAF_FRAMES		(PFS_MAX_USER_FRAMES - PFS_ROOT_FRAMES)
#define PFS_MAX_WALK_FRAMES 2048 /* limit of frames that one walk may find */
#define PFS_MAX_WALK_WORDS	((1 + PFS_STEP_MORE) * PFS_MAX_WALK_FRAMES)
#define PFS_MAX_WALK_NS		250000 /* limit of time, checked every PFS_STEPS frames */
#define PFS_MAX_SAMPLE_NS	500000 /* limit of time including an interpreter's frames */

/* Returns how many of count frames are kept. */
static inline __u32
pfs_walk_kept(__u32 count)
{
	return pfs_kept_words(count, PFS_LEAF_FRAMES, PFS_ROOT_FRAMES);
}

/* Returns the place of a frame by its number. */
static inline __u32
pfs_walk_place(__u32 number)
{
	return pfs_kept_place(number, PFS_LEAF_FRAMES, PFS_ROOT_FRAMES);
}

/*
 * Results of walks that did not reach a root: X(identifier, name, meaning). The collector counts
 * each as the loss "stack_" and the name, and logs the meaning.
 */
#define PFS_WALK_FAILURES(X)                                          \
	X(TOO_DEEP, "too_deep", "more user frames than a walk may have")  \
	X(NO_PROCESS, "no_process", "the process was not described yet")  \
	X(NO_MAPPING, "no_mapping", "a caller outside of known code")     \
	X(NO_TABLE, "no_table", "the binary's table is not loaded")       \
	X(NO_RULE, "no_rule", "code without CFI or frame pointers")       \
	X(READ_FAILED, "read_failed", "a part of the stack is paged out") \
	X(BAD_FRAME, "bad_frame", "CFI led to an impossible frame")       \
	X(NO_REGISTERS, "no_registers", "32-bit code, or no registers")   \
	X(STALE, "stale", "the sampled code was replaced meanwhile")      \
	X(OUT_OF_TIME, "out_of_time", "the walk took too long")           \
	X(TRACED, "traced", "a traced return (uretprobe)")

/* All results of a walk. */
#define PFS_WALK_STATUSES(X)                                                               \
	X(RUNNING, "running", "not ended")                                                     \
	X(END_OF_STACK, "end_of_stack", "at a frame whose return address is undefined: whole") \
	X(END_OF_FRAMES, "end_of_frames",                                                      \
	  "at a zero frame pointer or return address in code with frame pointers: whole")      \
	PFS_WALK_FAILURES(X)

enum pfs_walk_status {
#define PFS_WALK_ID(identifier, name, meaning) PFS_WALK_##identifier,
	PFS_WALK_STATUSES(PFS_WALK_ID)
#undef PFS_WALK_ID
	PFS_WALK_STATUS_COUNT
};

/*
 * User frames have flags in their top byte, which is unused in user addresses. The upper half of
 * that byte is the number of further words of the frame, at most 14; machine code has none. A frame
 * with further words is interpreted code: its address identifies the code in its interpreter, whose
 * number is in the lower half. The further words have 15 in their upper half, and 60 bits defined
 * by the interpreter's walk and its namer. So frames can be recognized even if words before them
 * were cut out.
 */
#define PFS_FRAME_ADDRESS(frame)	 ((frame) &0x00ffffffffffffffULL)
#define PFS_FRAME_RETURN_ADDRESS	 (1ULL << 56) /* the address follows a call */
#define PFS_FRAME_BY_FRAME_POINTER	 (1ULL << 57) /* found by frame pointer, without a rule */
#define PFS_FRAME_MORE(frame)		 ((__u32) ((frame) >> 60))
#define PFS_FRAME_INTERPRETER(frame) ((__u32) ((frame) >> 56 & 15))
#define PFS_FRAME_CONTINUES(word)	 ((word) >> 60 == 15)
#define PFS_FRAME_PAYLOAD(word)		 ((word) &0x0fffffffffffffffULL)

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_unwind_rule) == 16,
			   "rules are compared and shared by their bytes");
_Static_assert(sizeof(union pfs_unwind_entry) == 8, "directories are arrays of 8-byte entries");
_Static_assert(sizeof(struct pfs_unwind_line) == 64, "a line of rows is a cache line");
_Static_assert(sizeof(struct pfs_unwind_mapping) == 32, "two mappings share a cache line");
#endif

#endif
