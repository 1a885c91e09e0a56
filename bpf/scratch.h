/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * scratch.h
 *		Memory of one sample under construction.
 */
#ifndef PFS_SCRATCH_H
#define PFS_SCRATCH_H

#include <linux/ptrace.h>

#include "events.h"

/* Registers of user mode. */
#ifdef PFS_ARM64
typedef struct user_pt_regs pfs_registers;
#else
typedef struct pt_regs pfs_registers;
#endif

/* Space for a sample under construction, because the BPF stack has only 512 bytes. */
#define PFS_FRAME_WORDS (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES)
#define PFS_LABEL_WORDS (sizeof(struct pfs_labels) / 8)
#define PFS_LATE_WORDS	((sizeof(struct pfs_late) + 7) / 8)
#define PFS_CHAIN_WORDS \
	(sizeof(struct pfs_chain) / 8 + PFS_MAX_USER_FRAMES / 2 + PFS_CHAIN_KEPT_WORDS)

/* Limit of the words that follow a record's head, except for a copy of the stack. */
#define PFS_RECORD_WORDS (PFS_FRAME_WORDS + PFS_LABEL_WORDS + PFS_CHAIN_WORDS)

/* State of the walk of Perl's contexts. */
struct pfs_perl_walk {
	__u64 contexts; /* contexts of the stack that is followed */
	__u64 cop;		/* the statement that the next frame executes */
	/* number of contexts that were not followed yet; they are followed from the last one on */
	__u32 left;
	__u32 type; /* type of the stack */
	__u8 is_entered;
	__u8 is_sort; /* the last context is the block of a sort */
	/* the last frame has no return: it ended a loop of the interpreter */
	__u8 is_ended;
	__u8 is_phase; /* the last frame belongs to BEGIN, END or another phase block */
	__u8 unused[4];
	__u64 owner; /* identifies the process, the thread and its interpreter */
};

/*
 * A frame of Perl that was read, by its subroutine and statement. A frame stays known after its
 * sample, and is used again if a read of the statement shows that it still means the same.
 */
#define PFS_PERL_KNOWN_BITS 9
struct pfs_perl_known_frame {
	__u64 function; /* address, or an enum pfs_perl_code */
	__u64 cop;
	__u64 owner;		/* the thread whose later samples may use the frame; 0: no sample may */
	__u64 read_ns;		/* begin of the sample in which the subroutine was read */
	__u64 confirmed_ns; /* begin of the last sample in which the statement was read */
	__u64 sequence;		/* word of the statement with the number that the compiler gave it */
	__u64 name;			/* with PFS_PERL_NAME_IS_* */
	__u64 payload;		/* line and check */
	__u64 file;
	__u64 stash;
};

/* State of the walk of LuaJIT's frames. */
struct pfs_luajit_walk {
	__u64 global;
	__u64 stack; /* stack of the state whose frames are followed */
	__u64 call;	 /* the interpreter's next frame on the machine's stack; 0: there is none */
	__u64 last;	 /* the previous one; 0 if there was none */
	__u64 pc;	 /* address after the instruction that the next frame executes; 0: unknown */
	/* the compiled trace that runs: */
	__u64 constants;
	__u64 entry;	/* end of the entries of its snapshot that were not looked at yet */
	__u64 function; /* function of the outermost frame in the trace; 0: as on the state's stack */
	__u32 entries;	/* number of the entries; they are examined from the last one on */
	__u32 low;		/* bounds of the search for the snapshot */
	__u32 high;
	__u32 is_linked; /* pc is the link of the called frame, so it is in the next function */
};

/*
 * A cache of objects that were read for the sample. Functions often have several frames in a stack,
 * and each read of the process's memory takes a third of a frame's time.
 */
#define PFS_KNOWN_BITS	9
#define PFS_KNOWN_WORDS 4
struct pfs_known_object {
	__u64 key;					  /* the address in the lower bits, the sample's number above */
	__u64 words[PFS_KNOWN_WORDS]; /* as the interpreter's walk defines them */
};

/*
 * Memory that was read together, as frames of an interpreter often lie one after the other. After
 * it is room for a block that begins at its last word.
 */
#define PFS_BESIDE_WORDS 128
#define PFS_BESIDE_BYTES (8 * PFS_BESIDE_WORDS)
struct pfs_beside {
	__u64 start; /* address; 0: nothing was read */
	__u64 words[PFS_BESIDE_WORDS + PFS_FRAME_BLOCK_MOST_WORDS];
};

/* State of the walk of an interpreter's chain. */
struct pfs_chain_walk {
	struct pfs_runtime runtime; /* interpreter of the sample's process */
	__u64 first_sp;
	__u64 leaf_pc; /* registers of the machine's innermost frame; 0: unknown */
	__u64 leaf_bx;
	__u64 leaf_dx;
	__u64 leaf_r14;
	__u64 leaf_link; /* the link register of arm64; 0: unknown */
	struct pfs_luajit_walk luajit;
	__u64 frame;  /* address of the next frame; 0: end of the chain */
	__u64 record; /* address of the record that led to frame, if the interpreter has records */
	__u64 caller_record; /* address of the record of Python's loop that called the record's loop */
	__u64 block[PFS_FRAME_BLOCK_MOST_WORDS];
	__u64 code[PFS_CODE_BLOCK_MOST_WORDS];
	struct pfs_perl_walk perl;
	struct pfs_beside frames; /* frames of the chain, and the last block that was read of a frame */
	struct pfs_beside
		environments;	 /* Ruby's environments, and the last block that was read of one */
	__u64 sample_number; /* 1 to 65,535, for the keys of known objects */
	struct pfs_known_object known[1 << PFS_KNOWN_BITS];
	struct pfs_perl_known_frame perl_known[1 << PFS_PERL_KNOWN_BITS];
	__u32 found; /* number of words */
	__u16 mark_count;
	__u8 status;					 /* enum pfs_chain_status */
	__u32 ends[PFS_MAX_USER_FRAMES]; /* ends of the machine's frames, by position */
};

struct pfs_scratch {
	/*
	 * must be the first member, because the address of a walk is converted to that of its scratch
	 */
	struct pfs_walk walk;
	pfs_registers saved; /* registers of user mode: too large for the stack of programs on arm64 */
	__u32 verdict;		 /* verdict on the image: PFS_VERDICT_* */
	__u32 young;		 /* the sample is one of the image's first */
	__u32 slot;			 /* number of this scratch */
	__u32 taken;		 /* an event uses this scratch */
	__u64 missing;		 /* address at which labels were unreadable */
	struct pfs_chain_walk chain;
	struct pfs_sample sample;
	/* frames, followed by labels, a chain and the hand-over to user space */
	__u64 words[PFS_RECORD_WORDS + PFS_LATE_WORDS];
};

#endif
