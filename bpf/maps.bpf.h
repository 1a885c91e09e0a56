/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.bpf.h
 *		The maps of the BPF programs.
 */
#ifndef PFS_MAPS_BPF_H
#define PFS_MAPS_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "events.h"
#include "scratch.h"

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
