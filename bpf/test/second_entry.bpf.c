// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * second_entry.bpf.c
 *		A second entry point beside the clock's, for tests: at sched_switch, where the kernel
 *		passes neither an event nor registers.
 *
 * It samples one thread each time that it leaves the CPU; the sample's value is the time that the
 * thread was off the CPU before.
 */
#include "profiler.bpf.c"

#include <bpf/bpf_tracing.h>

const volatile __u32 pfs_test_tid = 0;

static __u64 left_ns;
static __u64 away_ns;

SEC("tp_btf/sched_switch")
int
BPF_PROG(pfs_test_switch, _Bool preempt, struct task_struct *previous, struct task_struct *next)
{
	struct pfs_scratch *scratch;

	(void) preempt;
	if (BPF_CORE_READ(next, pid) == (int) pfs_test_tid && left_ns)
	{
		away_ns += bpf_ktime_get_ns() - left_ns;
		left_ns = 0;
	}
	if (BPF_CORE_READ(previous, pid) != (int) pfs_test_tid)
		return 0;
	left_ns = bpf_ktime_get_ns();
	scratch = pfs_begin_sample(previous);
	if (!scratch)
		return 0;
	scratch->sample.kind = PFS_KIND_WAIT_SLEEP;
	scratch->sample.value = away_ns;
	away_ns = 0;
	scratch->sample.period = 1;
	pfs_walk_kernel(ctx, scratch);
	if (!scratch->sample.flags)
		pfs_begin_walk_of_task(scratch, previous);
	pfs_finish_sample(scratch, previous);
	return 0;
}
