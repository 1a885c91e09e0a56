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

#define PFS_CHAIN_STEPS	  64 /* number of frames between two readings of the clock */
#define PFS_SMALLEST_PAGE 4096ULL

static __always_inline int
pfs_chain_end(struct pfs_chain_walk *chain, enum pfs_chain_status status)
{
	chain->status = (__u8) status;
	return 1;
}

/*
 * Ends a chain that has no frames, because it was found half made: the thread was interrupted
 * between two instructions of a call or a return, and the chain's frames are not its callers.
 */
static __always_inline int
pfs_chain_drop(struct pfs_chain_walk *chain)
{
	chain->found = 0;
	chain->mark_count = 0;
	return pfs_chain_end(chain, PFS_CHAIN_BAD);
}

/* Reads the word that leads to a thread's state. Returns non-zero if it cannot be read. */
static __always_inline int
pfs_read_state_word(const struct pfs_runtime *runtime, __u64 thread_pointer, __u64 *word)
{
	__u64 from = thread_pointer;

	if (runtime->state_pointer &&
		pfs_read_user(thread_pointer + 8 * (__u64) (__s64) runtime->state_pointer, &from))
		return 1;
	/* the process's first thread has no values before the first key is made */
	if (!from)
	{
		*word = 0;
		return 0;
	}
	return pfs_read_user(from + (__u64) (__s64) runtime->state_offset, word) != 0;
}

/* Empties the caches of objects and of frames. */
static __always_inline void
pfs_forget_memory(struct pfs_chain_walk *chain)
{
	chain->frames.start = 0;
	chain->environments.start = 0;
	chain->sample_number = (chain->sample_number + 1) & 0xffff;
	/*
	 * Entries of earlier samples have another number in their key and do not match. The number has
	 * 16 bits: when it wraps around, entries that old could match again and are cleared.
	 */
	if (chain->sample_number)
		return;
	for (int i = 0; i < 1 << PFS_KNOWN_BITS; i++)
		chain->known[i].key = 0;
	/* zeroed entries have number 0, which no sample uses */
	chain->sample_number = 1;
}

/*
 * Returns the cached entry for the object at an address. If its key differs from the given one, the
 * caller sets the key and the words. An object has two possible places, because objects that took
 * each other's only place would be read again for each frame.
 */
static __always_inline struct pfs_known_object *
pfs_known_object(struct pfs_chain_walk *chain, __u64 address, __u64 *key)
{
	struct pfs_known_object *known =
		&chain->known[address * PFS_HASH_FACTOR >> (64 - PFS_KNOWN_BITS + 1) << 1];

	/* user addresses have 48 bits; the sample's number is above them */
	*key = chain->sample_number << 48 | (address & ((1ULL << 48) - 1));
	/* the second place is used while the first one has another object of this sample */
	if (known->key != *key && known->key >> 48 == chain->sample_number)
		known++;
	return known;
}

/*
 * Returns the start of the memory that is read with a block. It ends with the block if frames are
 * followed towards lower addresses, or begins with it; but it has no page that the block has not.
 */
static __always_inline __u64
pfs_beside_start(__u64 address, __u64 bytes, int is_descending)
{
	__u64 page = address & ~(PFS_SMALLEST_PAGE - 1);
	__u64 low = address + bytes - PFS_BESIDE_BYTES;

	/* The block ends the window, but the window does not begin before the block's page. */
	if (is_descending)
		return low < page ? page : low;
	/*
	 * The window would reach into the next page, which may be unreadable. It ends with the block's
	 * page instead.
	 */
	if (address + bytes <= page + PFS_SMALLEST_PAGE &&
		address + PFS_BESIDE_BYTES > page + PFS_SMALLEST_PAGE)
		return page + PFS_SMALLEST_PAGE - PFS_BESIDE_BYTES;
	return address;
}

/*
 * Reads count words, a constant of PFS_FRAME_BLOCK_MOST_WORDS at most, together with what lies
 * beside them, unless that was read before. Returns non-zero if they cannot be read.
 */
static __always_inline long
pfs_read_beside(struct pfs_beside *beside, __u64 address, const __u32 count, int is_descending,
				__u64 *to)
{
	const __u32 bytes = 8 * count;
	__u64 at = address - beside->start;

	if (address & 7) /* not the address of a frame */
		return bpf_probe_read_user(to, bytes, (void *) address);
	/* at is far larger than the window if the address is below its start */
	if (!beside->start || at > PFS_BESIDE_BYTES - bytes)
	{
		beside->start = pfs_beside_start(address, bytes, is_descending);
		/*
		 * A failed read leaves the window without valid content, which start 0 says. The block
		 * alone may be readable.
		 */
		if (bpf_probe_read_user(beside->words, PFS_BESIDE_BYTES, (void *) beside->start))
		{
			beside->start = 0;
			return bpf_probe_read_user(to, bytes, (void *) address);
		}
		at = address - beside->start;
	}
	/*
	 * The mask and the check show the verifier that at + i is inside of words, which has room for a
	 * block beyond PFS_BESIDE_WORDS.
	 */
	at = at >> 3 & (PFS_BESIDE_WORDS - 1);
	barrier_var(at);
	if (at >= PFS_BESIDE_WORDS)
		return 1;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < count; i++)
		to[i] = beside->words[at + i];
	return 0;
}

/* Appends a word. first is the place of the chain's first word. */
static __always_inline void
pfs_chain_put(struct pfs_scratch *scratch, __u32 first, __u64 word)
{
	__u32 at = first + pfs_chain_place(scratch->chain.found);

	/* counts words that were overwritten, too, so that the collector knows how many are missing */
	scratch->chain.found++;
	barrier_var(at);
	/* always true; the verifier does not know the range of first */
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
