/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gpu.bpf.h
 *		Entry point at the functions of the GPU's driver library that launch work.
 *
 * A launch is kept with probability 1 / period, and then stands for period launches.
 */
#ifndef PFS_GPU_BPF_H
#define PFS_GPU_BPF_H

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "probes.bpf.h"

/*
 * Mean number of launches for each kept one. The collector lengthens it if there are more samples
 * than its limit.
 */
volatile __u64 pfs_launch_period = 0;

/*
 * Launches are watched during one of this number of seconds; each counts as this number of
 * launches.
 */
volatile __u32 pfs_launches_one_in = 0;

/* First scratch of launches, and their number. Set before loading. */
const volatile __u32 pfs_launch_slot = 0;
const volatile __u32 pfs_launch_slots = 0;

/* Cookies of the libraries that are probed, each at its remainder; 0: none. */
volatile __u64 pfs_launch_cookies[PFS_LAUNCH_LIBRARIES] = { 0 };

/* A process that launches work on a GPU. Pid and start time together are unique. */
struct pfs_launcher {
	__u64 start_time_ns;
	__u64 pid;
};

/* The cookie of the library whose calls count for a process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct pfs_launcher);
	__type(value, __u64);
} pfs_launchers SEC(".maps");

/*
 * Returns whether the call counts. Two mounts of a file (two overlays of one image) are two
 * libraries for the collector and one for the kernel, which then calls the program twice.
 */
static __always_inline int
pfs_counts_launch(struct task_struct *task, __u64 cookie)
{
	struct pfs_launcher launcher = { BPF_CORE_READ(task, group_leader, start_boottime),
									 bpf_get_current_pid_tgid() >> 32 };
	__u64 *known = bpf_map_lookup_elem(&pfs_launchers, &launcher);

	if (known && (*known == cookie || pfs_launch_cookies[*known % PFS_LAUNCH_LIBRARIES] == *known))
		return *known == cookie;
	bpf_map_update_elem(&pfs_launchers, &launcher, &cookie, BPF_ANY);
	return 1;
}

SEC("uprobe")
int
pfs_launch(struct pt_regs *context)
{
	struct task_struct *task = (struct task_struct *) bpf_get_current_task();
	struct pfs_scratch *scratch;
	__u64 period = pfs_launch_period;

	if (!pfs_counts_launch(task, bpf_get_attach_cookie(context)))
		return 0;
	pfs_count(PFS_COUNTER_LAUNCH_CALLS);
	if (!pfs_keeps(1, period))
		return 0;
	pfs_count(PFS_COUNTER_LAUNCHES);
	pfs_count(PFS_COUNTER_EVENTS);
	scratch = pfs_begin_sample_in(pfs_take_call_scratch(pfs_launch_slot, pfs_launch_slots), task);
	if (!scratch)
		return 0;
	scratch->sample.value = period * pfs_launches_one_in;
	scratch->sample.period = period;
	pfs_finish_call(scratch, PFS_KIND_GPU_LAUNCH, context, task);
	return 0;
}

#endif
