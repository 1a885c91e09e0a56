/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.bpf.h
 *		The maps of the BPF programs.
 */
#ifndef PFS_MAPS_BPF_H
#define PFS_MAPS_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>

#include "events.h"

/* Of user mode. */
#ifdef PFS_ARM64
typedef struct user_pt_regs pfs_registers;
#else
typedef struct pt_regs pfs_registers;
#endif

/* Space for one sample while it is put together: the BPF stack has 512 bytes only. */
#define PFS_FRAME_WORDS (PFS_MAX_FRAMES + PFS_MAX_USER_FRAMES)
#define PFS_LABEL_WORDS (sizeof(struct pfs_labels) / 8)
#define PFS_LATE_WORDS	((sizeof(struct pfs_late) + 7) / 8)
#define PFS_CHAIN_WORDS \
	(sizeof(struct pfs_chain) / 8 + PFS_MAX_USER_FRAMES / 2 + PFS_CHAIN_KEPT_WORDS)

/* The most words that a record has behind its head, apart from a copy of the stack. */
#define PFS_RECORD_WORDS (PFS_FRAME_WORDS + PFS_LABEL_WORDS + PFS_CHAIN_WORDS)

/* The walk of an interpreter's chain. */
struct pfs_chain_walk {
	struct pfs_runtime runtime; /* of the sample's process */
	__u64 first_sp;
	__u64 frame;  /* the next one; 0: the chain ends there */
	__u64 record; /* that led to it, if there are such */
	__u64 block[PFS_FRAME_BLOCK_MOST_WORDS];
	__u64 code[16];
	__u32 found; /* words */
	__u16 mark_count;
	__u8 status;					 /* enum pfs_chain_status */
	__u32 ends[PFS_MAX_USER_FRAMES]; /* of the machine's frames, at their places */
};

struct pfs_scratch {
	struct pfs_walk walk; /* beside what else each sample writes */
	pfs_registers saved;  /* as user mode was left: too large for the stacks of arm64's programs */
	__u32 verdict;		  /* on the image: PFS_VERDICT_* */
	__u32 young;		  /* one of the image's first samples */
	__u32 slot;			  /* its own number */
	__u32 taken;		  /* by an event that is not at its end yet */
	__u64 missing;		  /* where labels could not be read */
	struct pfs_chain_walk chain;
	struct pfs_sample sample;
	/* frames, and labels, a chain and the hand-over behind them */
	__u64 words[PFS_RECORD_WORDS + PFS_LATE_WORDS];
};

/*
 * How many programs one CPU may be inside of at once: an event that comes in an interrupt meets
 * those of tasks half done. Set before loading.
 */
#define PFS_MAX_LEVELS 4
const volatile __u32 pfs_levels = 1;

/*
 * So many for each CPU, one after the other. The collector sets how many CPUs there are before
 * loading: a per-CPU map's values end at 32 KiB.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pfs_scratch);
} pfs_scratches SEC(".maps");

/* Samples on their way to the collector, which sets the size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} pfs_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PFS_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} pfs_counters SEC(".maps");

/*
 * Processes sampled before, by pid: the first samples of an image wake the collector at once, so
 * that a short-lived process is still there when its mappings are read. And what the collector has
 * decided of them.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct pfs_image);
} pfs_images SEC(".maps");

static __always_inline struct pfs_scratch *
pfs_get_scratch(__u32 slot)
{
	return bpf_map_lookup_elem(&pfs_scratches, &slot);
}

/*
 * One of this CPU's that no event has, to be given back; NULL: more events came into each other
 * than there are levels. Programs do not migrate, and who interrupts us ends before we go on: so
 * nobody comes between the look and the taking.
 */
static __always_inline struct pfs_scratch *
pfs_take_scratch(void)
{
	__u32 slot = bpf_get_smp_processor_id() * pfs_levels;

	for (__u32 level = 0; level < PFS_MAX_LEVELS && level < pfs_levels; level++)
	{
		struct pfs_scratch *scratch = pfs_get_scratch(slot + level);

		if (scratch && !scratch->taken)
		{
			scratch->taken = 1;
			scratch->slot = slot + level;
			barrier();
			return scratch;
		}
	}
	return 0;
}

static __always_inline void
pfs_give_scratch(struct pfs_scratch *scratch)
{
	barrier();
	scratch->taken = 0;
}

static __always_inline void
pfs_add(enum pfs_counter counter, __u64 added)
{
	__u32 key = counter;
	__u64 *value = bpf_map_lookup_elem(&pfs_counters, &key);

	/* some programs may be preempted by others of this CPU */
	if (value)
		__sync_fetch_and_add(value, added);
}

static __always_inline void
pfs_count(enum pfs_counter counter)
{
	pfs_add(counter, 1);
}

#endif
