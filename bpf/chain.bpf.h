/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chain.bpf.h
 *		Common parts of the walks of all interpreters' chains: checks, and the words of the record.
 *
 * These walks are compiled twice, like unwind.bpf.h: into the BPF programs, and into the collector
 * (runtimes/chain_walk.c), which reads threads that wait from outside. The includer defines first:
 * pfs_get_scratch, bpf_probe_read_user, pfs_read_user, bpf_ktime_get_ns and barrier_var.
 *
 * The process controls every byte that such a walk reads. So addresses are checked before use, and
 * each walk is bounded.
 */
#ifndef PFS_CHAIN_BPF_H
#define PFS_CHAIN_BPF_H

#include "runtime_types.h"
#include "scratch.h"

#define PFS_CHAIN_STEPS 64 /* number of frames between two readings of the clock */

static __always_inline int
pfs_chain_end(struct pfs_chain_walk *chain, enum pfs_chain_status status)
{
	chain->status = (__u8) status;
	return 1;
}

/* Empties the cache of objects. */
static __always_inline void
pfs_forget_objects(struct pfs_chain_walk *chain)
{
	chain->sample_number = (chain->sample_number + 1) & 0xffff;
	if (chain->sample_number)
		return;
	for (int i = 0; i < 1 << PFS_KNOWN_BITS; i++)
		chain->known[i].key = 0;
	chain->sample_number = 1;
}

/*
 * Returns the cached entry for the object at an address. If its key differs from the given one, the
 * caller sets the key and the words.
 */
static __always_inline struct pfs_known_object *
pfs_known_object(struct pfs_chain_walk *chain, __u64 address, __u64 *key)
{
	*key = chain->sample_number << 48 | (address & ((1ULL << 48) - 1));
	return &chain->known[address * PFS_HASH_FACTOR >> (64 - PFS_KNOWN_BITS)];
}

/* Appends a word. first is the place of the chain's first word. */
static __always_inline void
pfs_chain_put(struct pfs_scratch *scratch, __u32 first, __u64 word)
{
	__u32 at = first + pfs_chain_place(scratch->chain.found);

	scratch->chain.found++;
	barrier_var(at);
	if (at < PFS_RECORD_WORDS)
		scratch->words[at] = word;
}

/* Appends the first word of a frame that more words follow. */
static __always_inline void
pfs_chain_put_frame(struct pfs_scratch *scratch, __u32 first, __u64 address, __u32 more)
{
	pfs_chain_put(scratch, first,
				  PFS_FRAME_ADDRESS(address) | (__u64) more << 60 |
					  (__u64) scratch->chain.runtime.kind << 56);
}

/* Appends a further word of a frame. */
static __always_inline void
pfs_chain_put_more(struct pfs_scratch *scratch, __u32 first, __u64 payload)
{
	pfs_chain_put(scratch, first, 15ULL << 60 | PFS_FRAME_PAYLOAD(payload));
}

/* Appends a mark: an address inside the loop's frame, or 0 if loops are counted. */
static __always_inline void
pfs_chain_put_mark(struct pfs_scratch *scratch, __u32 first, __u64 address)
{
	scratch->chain.mark_count++;
	pfs_chain_put(scratch, first, PFS_FRAME_ADDRESS(address));
}

#endif
