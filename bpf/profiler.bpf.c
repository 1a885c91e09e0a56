// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profiler.bpf.c
 *		On-CPU sampling: one perf event per CPU runs pfs_on_cpu at every tick of its clock. Waits
 *		are off_cpu.bpf.h's.
 *
 * Each event becomes one ring buffer record with the raw stack: nothing is hashed, deduplicated or
 * resolved here. It ends in exactly one of the counters IDLE, SELF, DROPPED, SAMPLES, RING_FULL and
 * NO_SCRATCH, so these add up to EVENTS.
 *
 * Runs on kernels from 5.10: bpf_get_current_task instead of its BTF twin, no bpf_task_pt_regs, no
 * kprobes.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "off_cpu.bpf.h"
#include "sample.bpf.h"

char LICENSE[] SEC("license")
= "Dual BSD/GPL";

SEC("perf_event")
int
pfs_on_cpu(struct bpf_perf_event_data *context)
{
	struct task_struct *task = (struct task_struct *) bpf_get_current_task();
	struct pfs_scratch *scratch = pfs_begin_sample(task);

	if (!scratch)
		return 0;
	scratch->sample.kind = PFS_KIND_ON_CPU;
	scratch->sample.value = context->sample_period;
	scratch->sample.period = scratch->sample.value;
	if (pfs_in_user_mode(&context->regs))
		pfs_begin_walk(&scratch->walk, &context->regs);
	else
	{
		pfs_walk_kernel(context, scratch);
		if (!scratch->sample.flags)
			pfs_begin_walk_of_task(&scratch->walk, task);
	}
	pfs_finish_sample(scratch, task);
	return 0;
}
