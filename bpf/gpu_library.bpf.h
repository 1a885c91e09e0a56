/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gpu_library.bpf.h
 *		Entry points at the functions of libprofstore-gpu.so, which programs with a GPU load.
 *
 * Any program may pose as one that has loaded the library, so the calls of each process and of each
 * user in a control group are limited. A kept launch is counted as a sample; rows are not.
 */
#ifndef PFS_GPU_LIBRARY_BPF_H
#define PFS_GPU_LIBRARY_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "gpu_rows.h"
#include "probes.bpf.h"

/* Limit of batches in one second. The library hands over 100 for a window. */
#define PFS_GPU_ROWS_LIMIT	200
#define PFS_GPU_OWNER_TIMES 4 /* limit of an owner, as a multiple of that of a process */

#define PFS_NS_PER_S 1000000000ULL

/* First scratch of these programs, and their number. Set before loading. */
const volatile __u32 pfs_gpu_slot = 0;
const volatile __u32 pfs_gpu_slots = 0;

/* PFS_GPU_KEPT_LIMIT, or less while the agent saves CPU time. Set by user space. */
volatile __u64 pfs_gpu_kept_limit = 0;

/* A process by start time and pid, or an owner by control group and user with the top bit set. */
struct pfs_gpu_payer {
	__u64 group;
	__u64 user;
};

struct pfs_gpu_account {
	__u64 second; /* the second of the counts */
	__u64 kept;
	__u64 rows;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct pfs_gpu_payer);
	__type(value, struct pfs_gpu_account);
} pfs_gpu_accounts SEC(".maps");

/* Charges a call; returns false if its payer has used up its share of this second. */
static __always_inline int
pfs_gpu_pays(const struct pfs_gpu_payer *payer, __u64 second, int is_rows, __u64 limit)
{
	struct pfs_gpu_account fresh = { second, !is_rows, is_rows };
	struct pfs_gpu_account *account = bpf_map_lookup_elem(&pfs_gpu_accounts, payer);

	if (!account)
	{
		bpf_map_update_elem(&pfs_gpu_accounts, payer, &fresh, BPF_ANY);
		return 1;
	}
	/* threads may reset the counts together, which is harmless */
	if (account->second != second)
	{
		account->second = second;
		account->kept = 0;
		account->rows = 0;
	}
	if (is_rows)
		return __sync_fetch_and_add(&account->rows, 1) < limit;
	return __sync_fetch_and_add(&account->kept, 1) < limit;
}

static __always_inline int
pfs_gpu_allows(struct task_struct *task, int is_rows, __u64 limit)
{
	__u64 second = bpf_ktime_get_ns() / PFS_NS_PER_S;
	struct pfs_gpu_payer process = { BPF_CORE_READ(task, group_leader, start_boottime),
									 bpf_get_current_pid_tgid() >> 32 };
	struct pfs_gpu_payer owner = { bpf_get_current_cgroup_id(),
								   (__u32) bpf_get_current_uid_gid() | 1ULL << 63 };

	if (pfs_gpu_pays(&process, second, is_rows, limit) &&
		pfs_gpu_pays(&owner, second, is_rows, limit * PFS_GPU_OWNER_TIMES))
		return 1;
	pfs_count(PFS_COUNTER_GPU_FULL);
	return 0;
}

/*
 * Begins a record in a scratch area. Returns NULL if no area is free, or if the process must not be
 * sampled.
 */
static __always_inline struct pfs_scratch *
pfs_begin_gpu_record(struct task_struct *task)
{
	struct pfs_scratch *scratch = pfs_take_call_scratch(pfs_gpu_slot, pfs_gpu_slots);

	if (!scratch)
	{
		pfs_count(PFS_COUNTER_GPU_FULL);
		return 0;
	}
	pfs_describe_task(&scratch->sample, task);
	if (!pfs_is_excluded(&scratch->sample))
	{
		pfs_know_image(scratch);
		if (!(scratch->verdict & PFS_VERDICT_DROP))
			return scratch;
	}
	pfs_give_scratch(scratch);
	return 0;
}

/* pfs_gpu_launch(correlation, period) */
static __always_inline void
pfs_gpu_keep(struct pt_regs *context, struct task_struct *task)
{
	struct pfs_scratch *scratch;

	if (!pfs_gpu_allows(task, 0, pfs_gpu_kept_limit))
		return;
	scratch = pfs_begin_gpu_record(task);
	if (!scratch)
		return;
	pfs_count(PFS_COUNTER_GPU_KEPT);
	pfs_count(PFS_COUNTER_EVENTS);
	scratch->sample.value = PT_REGS_PARM1(context);
	scratch->sample.period = PT_REGS_PARM2(context);
	pfs_finish_call(scratch, PFS_RECORD_GPU_KEPT, context, task);
}

/* pfs_gpu_rows(rows, count) */
static __always_inline void
pfs_gpu_copy_rows(struct pt_regs *context, struct task_struct *task, __u64 cookie)
{
	const void *rows = (const void *) PT_REGS_PARM1(context);
	__u64 count = PT_REGS_PARM2(context);
	struct pfs_scratch *scratch;
	__u64 bytes;

	if (!count || count > PFS_GPU_ROWS_MAX || !pfs_gpu_allows(task, 1, PFS_GPU_ROWS_LIMIT))
		return;
	scratch = pfs_begin_gpu_record(task);
	if (!scratch)
		return;
	pfs_count(PFS_COUNTER_GPU_ROWS);
	bytes = pfs_at_most(count * sizeof(struct pfs_gpu_row),
						PFS_GPU_ROWS_MAX * sizeof(struct pfs_gpu_row));
	scratch->sample.kind = PFS_RECORD_GPU_ROWS;
	scratch->sample.value = count;
	scratch->sample.period = cookie;
	if (bpf_probe_read_user(scratch->words, (__u32) bytes, rows) ||
		bpf_ringbuf_output(&pfs_ring, &scratch->sample, sizeof(scratch->sample) + bytes,
						   BPF_RB_NO_WAKEUP))
		pfs_count(PFS_COUNTER_GPU_FULL);
	pfs_give_scratch(scratch);
}

SEC("uprobe")
int
pfs_gpu_call(struct pt_regs *context)
{
	struct task_struct *task = (struct task_struct *) bpf_get_current_task();
	__u64 cookie = bpf_get_attach_cookie(context);

	if (cookie & PFS_GPU_KEEPS)
		pfs_gpu_keep(context, task);
	else
		pfs_gpu_copy_rows(context, task, cookie);
	return 0;
}

#endif
