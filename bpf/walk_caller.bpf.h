/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_caller.bpf.h
 *		How a walk goes to a caller, and how it ends: shared by the steps by rule (unwind.bpf.h) and
 *		the steps over HotSpot's frames (hotspot.bpf.h).
 */
#ifndef PFS_WALK_CALLER_BPF_H
#define PFS_WALK_CALLER_BPF_H

#include "unwind_types.h"

/* Limits of the movement of the stack pointer: of a rule, and by the frame pointer. */
#define PFS_MAX_FRAME_BYTES	   (16ULL << 20)
#define PFS_MAX_FP_FRAME_BYTES (1ULL << 20)

static __always_inline int
pfs_walk_end(struct pfs_walk *walk, enum pfs_walk_status status)
{
	walk->status = (__u8) status;
	return 1;
}

/*
 * Returns the original return address of a traced call whose caller has this stack pointer; 0 if it
 * is unknown. On x86-64 the address was directly below. On AArch64 it was in a register, and the
 * stack pointer may be a lower bound.
 */
static __always_inline __u64
pfs_traced_address(const struct pfs_walk *walk, __u64 sp)
{
#ifndef PFS_ARM64
	sp -= 8;
#endif
	/* the innermost call that fits, because calls are sorted that way */
	for (int i = 0; i < PFS_TRACED_RETURNS; i++)
	{
		const struct pfs_traced_return *traced = &walk->at.traced[i];

#ifdef PFS_ARM64
		if (traced->address && traced->stack >= sp)
#else
		if (traced->address && traced->stack == sp)
#endif
			return traced->address;
	}
	return 0;
}

/*
 * Moves to the caller; removes pointer authentication codes of arm64, which are above the address
 * bits.
 */
static __always_inline int
pfs_walk_to_caller(struct pfs_walk *walk, __u64 pc, __u64 sp, __u64 fp)
{
#ifdef PFS_ARM64
	pc &= (1ULL << 48) - 1;
#endif
	if (walk->at.trampoline && pc == walk->at.trampoline)
	{
		pc = pfs_traced_address(walk, sp);
		if (!pc)
			return pfs_walk_end(walk, PFS_WALK_TRACED);
	}
	walk->at.pc = pc;
	walk->at.sp = sp;
	walk->at.fp = fp;
	/*
	 * the caller of the innermost frame has some of its registers unchanged (pfs_holds_asm_frame())
	 */
	walk->at.above = walk->at.innermost;
	walk->at.innermost = 0;
	walk->at.is_return = 1;
	return 0;
}

#endif
