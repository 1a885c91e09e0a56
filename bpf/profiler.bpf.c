// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profiler.bpf.c
 *		On-CPU sampling: one perf event per CPU runs pfs_on_cpu at each tick of its clock. Waits
 *		are in off_cpu.bpf.h, page faults and allocations in probes.bpf.h, launches of GPUs in
 *		gpu.bpf.h and gpu_library.bpf.h.
 *
 * Each event becomes one ring buffer record with the raw stack: nothing is hashed, deduplicated or
 * resolved here. Each event increments exactly one of the counters IDLE, SELF, DROPPED, SAMPLES,
 * RING_FULL and NO_SCRATCH, so their sum is EVENTS.
 *
 * Runs on kernels from 5.10: therefore bpf_get_current_task() and not its BTF twin, no
 * bpf_task_pt_regs(), no kprobes.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "gpu.bpf.h"
#include "gpu_library.bpf.h"
#include "group_roots.bpf.h"
#include "off_cpu.bpf.h"
#include "probes.bpf.h"
#include "sample.bpf.h"

char LICENSE[] SEC("license")
= "Dual BSD/GPL";

SEC("perf_event")
int
pfs_on_cpu(struct bpf_perf_event_data *context)
{
	pfs_sample_event(context, PFS_KIND_ON_CPU);
	return 0;
}
