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

/* The walk of an interpreter's chain. */
struct pfs_chain_walk {
	struct pfs_runtime runtime; /* interpreter of the sample's process */
	__u64 first_sp;
	__u64 frame;  /* address of the next frame; 0: end of the chain */
	__u64 record; /* address of the record that led to frame, if the interpreter has records */
	__u64 block[PFS_FRAME_BLOCK_MOST_WORDS];
	__u64 code[16];
	__u32 found; /* number of words */
	__u16 mark_count;
	__u8 status;					 /* enum pfs_chain_status */
	__u32 ends[PFS_MAX_USER_FRAMES]; /* ends of the machine's frames, at their places */
};

struct pfs_scratch {
	struct pfs_walk walk; /* first, because a walk's address is converted to its scratch's */
	pfs_registers saved;  /* registers of user mode: too large for the stack of programs on arm64 */
	__u32 verdict;		  /* on the image: PFS_VERDICT_* */
	__u32 young;		  /* one of the image's first samples */
	__u32 slot;			  /* number of this scratch */
	__u32 taken;		  /* in use by an event */
	__u64 missing;		  /* address at which labels could not be read */
	struct pfs_chain_walk chain;
	struct pfs_sample sample;
	/* frames, followed by labels, a chain and the hand-over */
	__u64 words[PFS_RECORD_WORDS + PFS_LATE_WORDS];
};

/*
 * Limit of nested programs on one CPU: an event in an interrupt may interrupt a program of a task.
 * Set before loading.
 */
#define PFS_MAX_LEVELS 4
const volatile __u32 pfs_levels = 1;

/*
 * Scratches, pfs_levels for each CPU. The collector sets the number of CPUs before loading; a
 * per-CPU map cannot be used because its values are limited to 32 KiB.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pfs_scratch);
} pfs_scratches SEC(".maps");

/* The ring buffer; the collector sets its size before loading. */
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
 * Sampled processes by pid, with the collector's verdicts. The first samples of an image wake the
 * collector at once, so that it reads the mappings of a short-lived process in time.
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
 * Takes a free scratch of this CPU, which pfs_give_scratch() returns; NULL if more events are
 * nested than there are levels. Programs do not migrate, and an interrupting program ends before
 * this one continues, so checking and taking a scratch needs no atomic operation.
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

	/* atomic, because other programs of this CPU may preempt some programs */
	if (value)
		__sync_fetch_and_add(value, added);
}

static __always_inline void
pfs_count(enum pfs_counter counter)
{
	pfs_add(counter, 1);
}

#endif
