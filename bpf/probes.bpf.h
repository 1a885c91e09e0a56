/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probes.bpf.h
 *		Entry points that are asked for by name: page faults, and memory that programs allocate.
 *
 * Page faults are perf events of the kernel's own two counters, which call the program once in a
 * period. Allocations are calls of functions of a library, each of which traps into the kernel: of
 * d bytes it is kept with the probability min(1, d / period), and then stands for max(d, period).
 */
#ifndef PFS_PROBES_BPF_H
#define PFS_PROBES_BPF_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sample.bpf.h"

/* Bytes; what the collector makes longer where there are more samples than it wants. */
volatile __u64 pfs_allocation_period = 0;

/* Calls are looked at for one second in so many, and what is seen then stands for all. */
volatile __u32 pfs_calls_one_in = 0;

/* Scratches of calls: the first one, how many. Set before loading. */
const volatile __u32 pfs_call_slot = 0;
const volatile __u32 pfs_call_slots = 0;

/* Tried one after the other. */
#define PFS_CALL_TRIES 4

/* More is never given: who asks for it shall not make sums overflow. */
#define PFS_ALLOCATION_MAX (1ULL << 47)

SEC("perf_event")
int
pfs_minor_fault(struct bpf_perf_event_data *context)
{
	pfs_count(PFS_COUNTER_FAULTS);
	pfs_sample_event(context, PFS_KIND_FAULT_MINOR);
	return 0;
}

SEC("perf_event")
int
pfs_major_fault(struct bpf_perf_event_data *context)
{
	pfs_count(PFS_COUNTER_FAULTS);
	pfs_sample_event(context, PFS_KIND_FAULT_MAJOR);
	return 0;
}

/*
 * Programs at calls may be preempted, and others of them come on the same CPU meanwhile. So they
 * have scratches of their own, which are taken in one step; all CPUs' are one pool.
 */
static __always_inline struct pfs_scratch *
pfs_take_call_scratch(void)
{
	__u32 first = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < PFS_CALL_TRIES && pfs_call_slots; i++)
	{
		__u32 slot = pfs_call_slot + (first + i) % pfs_call_slots;
		struct pfs_scratch *scratch = pfs_get_scratch(slot);

		if (scratch && !__sync_val_compare_and_swap(&scratch->taken, 0, 1))
		{
			scratch->slot = slot;
			return scratch;
		}
	}
	return 0;
}

/* What a call asks for; 0 where that is nothing, more than there is, or another call's to tell. */
static __always_inline __u64
pfs_asked_bytes(struct pt_regs *context)
{
	__u64 call = bpf_get_attach_cookie(context);
	__u64 first = PT_REGS_PARM1(context);
	__u64 second = PT_REGS_PARM2(context);
	__u64 third = PT_REGS_PARM3(context);
	__u64 number = 1;
	__u64 bytes;

	/* each read by itself: the verifier lets no pointer into the context be moved */
	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	if (call == PFS_CALL_FIRST)
		bytes = first;
	else if (call == PFS_CALL_THIRD)
		bytes = third;
	else
		bytes = second;
	if (call == PFS_CALL_PRODUCT)
		number = first;
	if (call == PFS_CALL_RESIZE && !first)
		return 0;
	if (bytes > PFS_ALLOCATION_MAX || (bytes && number > PFS_ALLOCATION_MAX / bytes))
		return 0;
	return number * bytes;
}

SEC("uprobe")
int
pfs_allocation(struct pt_regs *context)
{
	struct task_struct *task = (struct task_struct *) bpf_get_current_task();
	struct pfs_scratch *scratch;
	__u64 period = pfs_allocation_period;
	__u64 bytes = pfs_asked_bytes(context);

	pfs_count(PFS_COUNTER_CALLS);
	if (!bytes || !pfs_keeps(bytes, period))
		return 0;
	pfs_count(PFS_COUNTER_ALLOCATIONS);
	pfs_count(PFS_COUNTER_EVENTS);
	scratch = pfs_begin_sample_in(pfs_take_call_scratch(), task);
	if (!scratch)
		return 0;
	scratch->sample.kind = PFS_KIND_ALLOCATION;
	scratch->sample.value = (bytes > period ? bytes : period) * pfs_calls_one_in;
	scratch->sample.period = period;
	if (!scratch->sample.flags)
		pfs_begin_walk(&scratch->walk, (const pfs_registers *) context, task);
	pfs_finish_sample(scratch, task);
	return 0;
}

#endif
