/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probes.bpf.h
 *		Entry points that users request by name: page faults, and allocations of memory.
 *
 * Page faults are perf events of the kernel's two counters, which call the program once per period.
 * Allocations are calls of a library's functions, each of which traps into the kernel. A call for d
 * bytes is kept with probability min(1, d / period), and then stands for max(d, period).
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

/*
 * Calls for fewer bytes than this are kept with a probability. The collector lengthens it if there
 * are more samples than its limit.
 */
volatile __u64 pfs_allocation_period = 0;

/* Calls are watched during one of this number of seconds; each counts as this number of calls. */
volatile __u32 pfs_calls_one_in = 0;

/* First scratch of calls, and their number. Set before loading. */
const volatile __u32 pfs_call_slot = 0;
const volatile __u32 pfs_call_slots = 0;

/* Number of scratches that a call tries, one after the other, before it is counted as lost. */
#define PFS_CALL_TRIES 4

/* Larger requests never succeed, so they must not make sums overflow. */
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
 * Takes a scratch for a call from the scratches of one source. Other programs of the CPU may
 * preempt programs at calls. So these programs do not use the CPU's scratches but a common pool,
 * from which one atomic operation takes a scratch.
 */
static __always_inline struct pfs_scratch *
pfs_take_call_scratch(__u32 first_slot, __u32 slots)
{
	__u32 first = bpf_get_smp_processor_id();

	/* begins at the number of the CPU, so that CPUs rarely try the same scratch */
	for (__u32 i = 0; i < PFS_CALL_TRIES && slots; i++)
	{
		__u32 slot = first_slot + (first + i) % slots;
		struct pfs_scratch *scratch = pfs_get_scratch(slot);

		if (scratch && !__sync_val_compare_and_swap(&scratch->taken, 0, 1))
		{
			scratch->slot = slot;
			return scratch;
		}
	}
	return 0;
}

/* Completes the sample of a call, from its caller on, and returns the scratch. */
static __always_inline void
pfs_finish_call(struct pfs_scratch *scratch, __u8 kind, struct pt_regs *context,
				struct task_struct *task)
{
	scratch->sample.kind = kind;
	if (!scratch->sample.flags)
		pfs_begin_walk(&scratch->walk, (const pfs_registers *) context, task);
	pfs_finish_sample(scratch, task);
}

/*
 * Returns the bytes that a call requests; 0 if it requests none or an impossible number, or if
 * another probed call reports them.
 */
static __always_inline __u64
pfs_asked_bytes(struct pt_regs *context)
{
	__u64 call = bpf_get_attach_cookie(context);
	__u64 first = PT_REGS_PARM1(context);
	__u64 second = PT_REGS_PARM2(context);
	__u64 third = PT_REGS_PARM3(context);
	__u64 number = 1;
	__u64 bytes;

	/*
	 * each read separately, because the verifier does not allow a changed pointer into the context
	 */
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
	/* realloc(NULL, n) calls malloc(), which is probed, too */
	if (call == PFS_CALL_RESIZE && !first)
		return 0;
	/* a product that exceeds the limit is refused before it is computed, because it may overflow */
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
	/* decided before a scratch is taken: most calls end here */
	if (!bytes || !pfs_keeps(bytes, period))
		return 0;
	pfs_count(PFS_COUNTER_ALLOCATIONS);
	pfs_count(PFS_COUNTER_EVENTS);
	scratch = pfs_begin_sample_in(pfs_take_call_scratch(pfs_call_slot, pfs_call_slots), task);
	if (!scratch)
		return 0;
	scratch->sample.value = (bytes > period ? bytes : period) * pfs_calls_one_in;
	scratch->sample.period = period;
	pfs_finish_call(scratch, PFS_KIND_ALLOCATION, context, task);
	return 0;
}

#endif
