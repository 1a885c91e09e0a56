/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * luajit_trace.bpf.h
 *		Finds the functions and the bytecode that a compiled trace of LuaJIT executes.
 *
 * A trace executes one function or several, and does not keep their frames on the state's stack.
 * Its snapshots say what the interpreter continues with if the trace is left: machine code up to
 * the next snapshot's belongs to the bytecode of the snapshot, which lists the frames, too.
 */
#ifndef PFS_LUAJIT_TRACE_BPF_H
#define PFS_LUAJIT_TRACE_BPF_H

#include "chain.bpf.h"
#include "runtime_types.h"

#define PFS_LUAJIT_SEARCHES 16 /* steps of the search for a snapshot among at most 65,535 */

/* Reads the words of the trace that runs. Returns non-zero if it does not contain the address. */
static __always_inline int
pfs_read_luajit_trace(struct pfs_chain_walk *chain, __u64 pc)
{
	const struct pfs_luajit_layout *layout = &chain->runtime.luajit;
	__u64 global = chain->luajit.global;
	__u64 number;
	__u64 traces;
	__u64 trace;

	if (!layout->traces || pfs_read_user(global + layout->number, &number) ||
		pfs_read_user(global + layout->traces, &traces))
		return 1;
	/* traces are numbered from 1, with 16 bits */
	number &= 0xffffffff;
	if (!number || number > 0xffff || pfs_read_user(traces + 8 * number, &trace) ||
		!pfs_is_object(trace) ||
		bpf_probe_read_user(chain->code, PFS_LUAJIT_TRACE_WORDS * sizeof(__u64), (void *) trace))
		return 1;
	/*
	 * The process may have freed the trace: type, number and code must be those of the trace that
	 * runs.
	 */
	return PFS_LUAJIT_TYPE(chain->code[PFS_LUAJIT_TRACE_TYPE]) != PFS_LUAJIT_TYPE_TRACE ||
		   (chain->code[PFS_LUAJIT_TRACE_NUMBER] & 0xffff) != number ||
		   pc - chain->code[PFS_LUAJIT_TRACE_CODE] >= chain->code[PFS_LUAJIT_TRACE_SIZE] >> 32;
}

static __always_inline long
pfs_read_luajit_snapshot(const struct pfs_chain_walk *chain, __u32 number,
						 struct pfs_luajit_snapshot *snapshot)
{
	return bpf_probe_read_user(snapshot, sizeof(*snapshot),
							   (void *) (chain->code[PFS_LUAJIT_TRACE_SNAPSHOTS] +
										 number * sizeof(*snapshot)));
}

/*
 * Finds the last snapshot up to an offset in the trace's machine code. Returns non-zero without.
 * The bounds are in memory, because the verifier follows the values of registers and of the stack:
 * it would examine each outcome of the search apart.
 */
static __always_inline int
pfs_find_luajit_snapshot(struct pfs_chain_walk *chain, __u64 offset,
						 struct pfs_luajit_snapshot *snapshot)
{
	volatile __u32 *low = &chain->luajit.low;
	volatile __u32 *high = &chain->luajit.high;

	*low = 0;
	*high = PFS_LUAJIT_TRACE_SNAPSHOT_COUNT(chain->code[PFS_LUAJIT_TRACE_TYPE]);
	for (int i = 0; i < PFS_LUAJIT_SEARCHES; i++)
	{
		__u32 from = *low;
		__u32 to = *high;
		__u32 middle = (from + to) / 2;

		if (from >= to)
			break;
		if (pfs_read_luajit_snapshot(chain, middle, snapshot))
			return 1;
		if (offset < snapshot->offset)
			*high = middle;
		else
			*low = middle + 1;
	}
	/* the snapshot before *low is the last one at or before the offset */
	return *low == 0 || pfs_read_luajit_snapshot(chain, *low - 1, snapshot);
}

/*
 * Notes what the trace that runs executes at an address of its machine code. Otherwise the
 * innermost function is that of the state's stack, without a line.
 */
static __always_inline void
pfs_begin_luajit_trace(struct pfs_chain_walk *chain, __u64 leaf_pc, __u64 stopped_pc)
{
	struct pfs_luajit_snapshot snapshot;
	/* the machine's walk ends at a trace that has called C code: the address after the call */
	__u64 pc = leaf_pc;
	__u64 entries;
	__u64 bytecode;

	if (pfs_read_luajit_trace(chain, pc))
	{
		pc = stopped_pc - 1;
		if (stopped_pc == leaf_pc || pfs_read_luajit_trace(chain, pc))
			return;
	}
	if (pfs_find_luajit_snapshot(chain, pc - chain->code[PFS_LUAJIT_TRACE_CODE], &snapshot))
		return;
	/*
	 * the snapshot's entries are followed by the address of its bytecode, whose lowest byte is a
	 * number
	 */
	entries = chain->code[PFS_LUAJIT_TRACE_MAP] + 4 * ((__u64) snapshot.map + snapshot.entries);
	if (pfs_read_user(entries, &bytecode))
		return;
	chain->luajit.pc = (bytecode >> 8) + 4;
	chain->luajit.constants = chain->code[PFS_LUAJIT_TRACE_CONSTANTS];
	chain->luajit.entry = entries;
	chain->luajit.entries = snapshot.entries;
}

/* Takes the last entry that is left. Returns non-zero if it cannot be read. */
static __always_inline int
pfs_take_luajit_entry(struct pfs_chain_walk *chain, __u32 *entry)
{
	chain->luajit.entries--;
	chain->luajit.entry -= sizeof(*entry);
	return (int) bpf_probe_read_user(entry, sizeof(*entry), (void *) chain->luajit.entry);
}

/* Returns the constant that an entry refers to; 0 if it is none. */
static __always_inline __u64
pfs_luajit_constant(const struct pfs_chain_walk *chain, __u32 entry)
{
	__u64 reference = PFS_LUAJIT_ENTRY_REFERENCE(entry);
	__u64 value;

	/* after a word that describes it */
	if (reference >= PFS_LUAJIT_CONSTANT_END ||
		pfs_read_user(chain->luajit.constants + 8 * (reference + 1), &value))
		return 0;
	return value;
}

/*
 * Takes the entry of a slot if it is the next one. Returns the constant that it refers to; 0 if it
 * is none, or if the slot has no entry.
 */
static __always_inline __u64
pfs_luajit_constant_of_slot(struct pfs_chain_walk *chain, __u32 slot)
{
	__u32 entry;

	if (!chain->luajit.entries || pfs_take_luajit_entry(chain, &entry) ||
		PFS_LUAJIT_ENTRY_SLOT(entry) != slot)
		return 0;
	return pfs_luajit_constant(chain, entry);
}

/*
 * Looks at the next entry. Returns whether it is the frame of a function in the trace that another
 * function of the trace has called: the function, 0 if the trace does not know it, the type of the
 * link, and the caller's instruction, 0 if it is unknown. The link of a metamethod is not the
 * instruction, which is two slots before it.
 */
static __always_inline int
pfs_next_luajit_inlined(struct pfs_chain_walk *chain, __u64 *function, __u32 *type, __u64 *caller)
{
	__u32 entry;
	__u32 slot;
	__u64 link;

	*function = 0;
	*caller = 0;
	if (pfs_take_luajit_entry(chain, &entry))
	{
		chain->luajit.entries = 0;
		return 0;
	}
	/* slot 0 has the function of the outermost frame */
	if (PFS_LUAJIT_ENTRY_SLOT(entry) == 0)
		chain->luajit.function = pfs_luajit_constant(chain, entry);
	/* slot 1 has the link of the outermost frame, which is on the state's stack */
	if (!(entry & PFS_LUAJIT_ENTRY_FRAME) || PFS_LUAJIT_ENTRY_SLOT(entry) < 2)
		return 0;
	slot = PFS_LUAJIT_ENTRY_SLOT(entry);
	link = pfs_luajit_constant(chain, entry);
	*type = (__u32) link & 7;
	/* the function of a frame is in the slot before its link */
	*function = pfs_luajit_constant_of_slot(chain, slot - 1);
	if ((link & 3) == PFS_LUAJIT_LINK_LUA)
		*caller = link;
	else if (*type == PFS_LUAJIT_LINK_CONTINUE)
		*caller = pfs_luajit_constant_of_slot(chain, slot - 2);
	return 1;
}

#endif
