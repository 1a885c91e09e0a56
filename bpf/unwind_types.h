/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_types.h
 *		Unwind tables as the walker reads them: the part of events.h that is about unwinding.
 *
 * A process has a sorted run of *mappings*; a mapping leads to its binary's *directory*, which has
 * an entry for each page, 4 KiB of ELF addresses; a page has a sorted run of *rows*; a row names a
 * *rule*, which all binaries share:
 *
 *		pid ──► pfs_unwind_process ──► pfs_unwind_mapping[first .. first + count)
 *		mapping.directory ──► pfs_unwind_page: head { low page, pages }, then one entry per page
 *		page ──► pfs_unwind_line[first_line ..], 16 rows each; row.rule ──► pfs_unwind_rule
 *
 * Rows take 4 bytes (a page offset and a rule number), rules are few: the union over a system's
 * binaries is some thousands. Runs are written before the entry that leads to them and reused some
 * time after it is gone, so a walker never follows an entry into another run.
 */
#ifndef PFS_UNWIND_TYPES_H
#define PFS_UNWIND_TYPES_H

#include <linux/types.h>

#include "runtime_types.h"
#include "thread_labels.h"

/*
 * With the registers of a frame at hand:
 *
 *		CFA       = value(cfa_register) + cfa_offset               for PFS_UNWIND_CFI
 *		CFA       = *(value(cfa_register) + cfa_offset) + cfa_add   with PFS_UNWIND_CFA_DEREF
 *		            likewise, 8 * value(index register) further   with PFS_UNWIND_INDEX too
 *		caller pc = *(CFA + ra_offset), or ra_register with PFS_UNWIND_RA_IN_REGISTER
 *		caller fp = fp (PFS_FP_SAME), *(CFA + fp_offset) (PFS_FP_AT_CFA),
 *		            *(fp + fp_offset) (PFS_FP_AT_FP)
 *		caller sp = CFA
 *
 * Registers carry their DWARF numbers (System V x86-64 psABI table 3.36; AArch64 DWARF ABI section
 * 4.1). Only stack and frame pointer are followed from frame to frame, and on x86-64 the place
 * where rbx is saved, since the dynamic loader's way to functions that are called for the first
 * time keeps its frame there. A rule on any other register holds for the innermost frame, where the
 * kernel has saved all of them, and with checks for the one that called it: hand-written code keeps
 * its frame in a register that its own helpers leave alone.
 */
enum pfs_unwind_kind {
	PFS_UNWIND_INVALID =
		0,			/* nothing known here: no CFI covers it, or CFI that rules do not express */
	PFS_UNWIND_CFI, /* the formulas above */
	PFS_UNWIND_END_OF_STACK, /* the return address is undefined: a proven root */
	/* a lazy PLT entry: CFA = sp + 8, 8 more from byte plt_threshold of each 16 on */
	PFS_UNWIND_PLT,
	PFS_UNWIND_SIGNAL /* signal trampoline: the registers lie in the frame that the kernel pushed */
};

enum pfs_unwind_fp {
	PFS_FP_SAME = 0,
	PFS_FP_AT_CFA,
	PFS_FP_AT_FP,
	PFS_FP_LOST /* overwritten, or saved in a way that rules do not express */
};

/* Odd, as no offset is. */
#define PFS_BX_LOST 1

#define PFS_UNWIND_CFA_DEREF	  0x01
#define PFS_UNWIND_RA_IN_REGISTER 0x02
/* the caller's frame may lie anywhere (Go's system stacks) */
#define PFS_UNWIND_OTHER_STACK	  0x04
/* upper half of the flags: an index register's number (frames behind an array); 0: none */
#define PFS_UNWIND_INDEX_MASK	  0xf0
#define PFS_UNWIND_INDEX(flags)	  ((flags) >> 4)

/*
 * What offsets of saved registers count, in bytes. AArch64 code keeps them at the low end of its
 * frame, however large that is, and at multiples of 8; on x86-64 the return address ends the frame.
 */
#define PFS_UNWIND_UNIT_X86_64	1
#define PFS_UNWIND_UNIT_AARCH64 8

struct pfs_unwind_rule {
	__u8 kind; /* enum pfs_unwind_kind */
	__u8 cfa_register;
	__u8 fp; /* enum pfs_unwind_fp */
	__u8 flags;
	__s32 cfa_offset; /* bytes */
	__s16 fp_offset;  /* units */
	union {
		__s16 ra_offset;	 /* units, from the CFA */
		__s16 ra_register;	 /* with PFS_UNWIND_RA_IN_REGISTER */
		__s16 plt_threshold; /* PFS_UNWIND_PLT */
	};
	__s16 cfa_add; /* bytes, with PFS_UNWIND_CFA_DEREF */
	/* bytes from the CFA where the caller's rbx is; 0: in its place, PFS_BX_LOST: nowhere */
	__s16 bx_offset;
};

/*
 * Sizes of the kernel's tables. Lines, entries and mappings begin small and grow, to what the
 * collector was told to allow: these at least.
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
 * Small pages are directories of many entries, and few lines to halve: each step of that misses the
 * processor's caches, where the walker runs twenty times a second.
 */
#define PFS_UNWIND_PAGE_BITS 12
#define PFS_UNWIND_LINE_ROWS 16

/*
 * A rule holds from its offset in the page up to the next row's; each page has a row at the offset
 * of its first code.
 */
struct pfs_unwind_row {
	__u16 offset;
	__u16 rule;
};

/* A cache line of rows: the walker finds the line by halving, then the row inside it. */
struct pfs_unwind_line {
	/* unused ones at the end repeat the last row */
	struct pfs_unwind_row rows[PFS_UNWIND_LINE_ROWS];
};

/* Entry of a binary's directory. */
struct pfs_unwind_page {
	__u32 first_line;
	__u32 line_count; /* 1 .. 256; 0: no rule speaks of the page */
};

/* In .line_count: the page has as many lines, but they are not loaded, and walks end there. */
#define PFS_UNWIND_NOT_LOADED (1U << 31)

#define PFS_UNWIND_UNKNOWN_RULE PFS_UNWIND_RULES /* of such a page; no rule has this number */

/* A directory's first entry: which pages the entries after it are about. */
#define PFS_UNWIND_MOST_PAGE  ((1ULL << 40) - 1) /* what the fields hold */
#define PFS_UNWIND_MOST_PAGES ((1ULL << 24) - 1)
struct pfs_unwind_directory {
	__u64
		low_page : 40; /* ELF virtual address, or that of generated code, >> PFS_UNWIND_PAGE_BITS */
	__u64 page_count : 24;
};

union pfs_unwind_entry {
	struct pfs_unwind_directory head;
	struct pfs_unwind_page page;
	__u64 word; /* entries of pages are read and written as a whole: they change under walks */
};

enum pfs_mapping_kind {
	PFS_MAPPING_PENDING = 0, /* its binary's table is not loaded yet */
	PFS_MAPPING_TABLE,		 /* by the rules that .directory leads to */
	/*
	 * by rules as well, read from the process's memory: only in user space, which knows whether
	 * they hold
	 */
	PFS_MAPPING_JIT,
	/* code built with frame pointers throughout (Go, JIT compilers), or without any CFI */
	PFS_MAPPING_FRAME_POINTER
};

struct pfs_unwind_mapping {
	__u64 start; /* process addresses, half-open */
	__u64 end;
	__u64 bias;		 /* process address - bias = ELF virtual address */
	__u32 directory; /* number of its first entry, with PFS_MAPPING_TABLE */
	/* enum pfs_mapping_kind; from PFS_MAPPING_KIND_BITS on the table's own number, 0: none */
	__u32 kind;
};

/* One word, so that kind and number are always of the same table. */
#define PFS_MAPPING_KIND_BITS	   8
#define PFS_MAPPING_MOST_TABLES	   ((1U << (32 - PFS_MAPPING_KIND_BITS)) - 1)
#define pfs_mapping_kind(mapping)  ((mapping)->kind & ((1U << PFS_MAPPING_KIND_BITS) - 1))
#define pfs_mapping_table(mapping) ((mapping)->kind >> PFS_MAPPING_KIND_BITS)

/*
 * Rules that were found, by place: a shared array of words, each of which is read and written as a
 * whole. A place is the table's number, which no other table ever bears, and an ELF address. Times
 * an odd number it is another of so many bits, of which no two places share one: the upper bits are
 * the slot, and the others stand in it, above the rule's number.
 */
#define PFS_RECENT_ADDRESS_BITS 36
#define PFS_RECENT_PLACE_BITS	(PFS_RECENT_ADDRESS_BITS + 32 - PFS_MAPPING_KIND_BITS)
#define PFS_RECENT_SLOT_BITS	15 /* 256 KiB */
#define PFS_RECENT_TAG_BITS		(PFS_RECENT_PLACE_BITS - PFS_RECENT_SLOT_BITS)
#define PFS_RECENT_RULE_BITS	16
#define PFS_RECENT_FACTOR		0x9e3779b97f4a7c15ULL /* odd; 2^64 over the golden ratio */

struct pfs_unwind_process {
	__u64 start_time_ns; /* of the image described, as in struct pfs_sample */
	__u64 exec_id;
	__u32 first;
	__u32 count; /* mappings, ascending and disjoint */
	struct pfs_label_place labels;
};

/* Registers by DWARF number, and where a signal frame keeps them. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define PFS_ARM64			 1
#define PFS_REGISTER_COUNT	 33
#define PFS_REGISTER_FP		 29
#define PFS_REGISTER_LR		 30
#define PFS_REGISTER_SP		 31
#define PFS_REGISTER_PC		 32
#define PFS_UNWIND_UNIT		 PFS_UNWIND_UNIT_AARCH64
#define PFS_SIGNAL_REGISTERS 312 /* from sp: siginfo 128, ucontext up to uc_mcontext.regs 184 */
#else
#define PFS_REGISTER_COUNT	 17
#define PFS_REGISTER_BX		 3
#define PFS_REGISTER_FP		 6
#define PFS_REGISTER_SP		 7
#define PFS_REGISTER_PC		 16
#define PFS_UNWIND_UNIT		 PFS_UNWIND_UNIT_X86_64
#define PFS_SIGNAL_REGISTERS 40 /* from sp: ucontext up to uc_mcontext.gregs */
#endif

/*
 * A call whose return address the kernel has replaced, because somebody traces its return
 * (uretprobe): where the stack pointer was when the function was entered, and the address.
 */
struct pfs_traced_return {
	__u64 stack;
	__u64 address;
};

#define PFS_TRACED_RETURNS	 8	/* of nested calls that are known */
#define PFS_TRAMPOLINE_BYTES 64 /* it is shorter on all architectures */

/* Where a walk is: the registers of one frame. Enough to go on elsewhere. */
struct pfs_walk_state {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 bx_at; /* where rbx is saved; 0: still in registers, PFS_BX_LOST: nowhere */
	__u64 registers[PFS_REGISTER_COUNT]; /* by DWARF number; hold while innermost is set */
	__u8 innermost; /* the frame that was sampled, or that a signal interrupted */
	__u8 is_return; /* pc is a return address */
	__u8 by_fp;		/* pc was found by frame pointer */
	__u8 above; /* the frame called one that was innermost: registers are as that one has them */
	__u8 unused[4];
	__u64 trampoline; /* in the place of traced return addresses; 0: the task has none */
	__u64 arguments;  /* start of the process's arguments; 0: not known */
	struct pfs_traced_return traced[PFS_TRACED_RETURNS]; /* innermost first; address 0: none */
};

/* A piece of the stack that was read at once. */
#define PFS_WINDOW_WORDS  32
#define PFS_NO_WINDOW	  (1ULL << 63 | 1) /* a start that lies behind no address of user space */
#define PFS_WINDOW_BEFORE 56 /* bytes in front of what was asked for: where registers are saved */
struct pfs_stack_window {
	__u64 start;
	__u64 words[PFS_WINDOW_WORDS];
};

/* A walk under way. */
#define PFS_STEP_MORE 1 /* further words of a frame, at most */
struct pfs_walk {
	struct pfs_walk_state at;
	struct pfs_unwind_mapping mapping; /* of the current pc */
	struct pfs_unwind_mapping before;  /* the one before it: calls go there and back */
	struct pfs_unwind_process process;
	struct pfs_stack_window window; /* of the walk in the kernel, as what follows */
	__u64 word;						/* that was read */
	struct pfs_code_walk code;		/* of a runtime's code that is stepped over */
	__u64 more[PFS_STEP_MORE];		/* further words of the frame that was found last … */
	__u16 count;					/* words found */
	__u8 status;					/* enum pfs_walk_status */
	__u8 more_count;				/* … so many, which are not among those of count */
};

/*
 * Deep recursion: of the frames that a walk finds so many are kept. The innermost stay, and the
 * outermost as well, so that the stack keeps its root; the middle is cut out.
 */
#define PFS_MAX_USER_FRAMES 512
#define PFS_ROOT_FRAMES		128
#define PFS_LEAF_FRAMES		(PFS_MAX_USER_FRAMES - PFS_ROOT_FRAMES)
#define PFS_MAX_WALK_FRAMES 2048 /* found: what one tick may take is bounded … */
#define PFS_MAX_WALK_WORDS	((1 + PFS_STEP_MORE) * PFS_MAX_WALK_FRAMES)
#define PFS_MAX_WALK_NS		250000 /* … and so is the time; looked at every PFS_STEPS frames */
#define PFS_MAX_SAMPLE_NS	500000 /* likewise, with an interpreter's frames behind them */

/* How many frames are kept of so many. */
static inline __u32
pfs_walk_kept(__u32 count)
{
	return count < PFS_MAX_USER_FRAMES ? count : PFS_MAX_USER_FRAMES;
}

/* Where the frame of this number is kept, until another one takes its place. */
static inline __u32
pfs_walk_place(__u32 number)
{
	if (number < PFS_LEAF_FRAMES)
		return number;
	return PFS_LEAF_FRAMES + (number - PFS_LEAF_FRAMES) % PFS_ROOT_FRAMES;
}

/*
 * How a walk ended short of a root: X(identifier, name, meaning). The collector counts each as a
 * loss, "stack_" and the name, and logs its meaning.
 */
#define PFS_WALK_FAILURES(X)                                            \
	X(TOO_DEEP, "too_deep", "more user frames than are walked")         \
	X(NO_PROCESS, "no_process", "sampled before it was looked at")      \
	X(NO_MAPPING, "no_mapping", "a caller outside of known code")       \
	X(NO_TABLE, "no_table", "a binary whose CFI could not be read")     \
	X(NO_RULE, "no_rule", "code without CFI or frame pointers")         \
	X(READ_FAILED, "read_failed", "a part of the stack is paged out")   \
	X(BAD_FRAME, "bad_frame", "CFI that led to no frame")               \
	X(NO_REGISTERS, "no_registers", "32-bit code, or no registers")     \
	X(STALE, "stale", "code that took another's place a moment before") \
	X(OUT_OF_TIME, "out_of_time", "a walk that took too long")          \
	X(TRACED, "traced", "a return that somebody traces (uretprobe)")

/* How a walk ended. */
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
 * User frames carry what is known of them in their top byte, which no user address reaches. In the
 * upper half of it stands how many more words belong to the frame, 14 at most. One of machine code
 * has none. A frame with more is interpreted code's: its address is what the interpreter knows the
 * code by, and the lower half says whose it is. The words that follow have 15 in their upper half,
 * and 60 bits for whatever that interpreter's walk and who names its code agree on. So frames are
 * found again wherever some were cut out.
 */
#define PFS_FRAME_ADDRESS(frame)	 ((frame) &0x00ffffffffffffffULL)
#define PFS_FRAME_RETURN_ADDRESS	 (1ULL << 56) /* points behind a call */
#define PFS_FRAME_BY_FRAME_POINTER	 (1ULL << 57) /* found by frame pointer, not by a rule */
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
