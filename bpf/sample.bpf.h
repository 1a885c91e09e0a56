/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sample.bpf.h
 *		Parts that all entry points share: a sample from its begin to the ring buffer.
 *
 * An entry point takes a scratch and begins the sample (pfs_begin_sample), sets its kind and value,
 * adds the kernel side, begins the walk of the user side, and finishes the sample
 * (pfs_finish_sample). Only the entry point knows its context's type.
 */
#ifndef PFS_SAMPLE_BPF_H
#define PFS_SAMPLE_BPF_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "chain_record.bpf.h"
#include "events.h"
#include "kernel_types.h"
#include "maps.bpf.h"
#include "thread_labels.bpf.h"
#include "user_stack.bpf.h"

/* Bytes in the ring above which the collector is woken; set before loading. */
const volatile __u64 pfs_wakeup_bytes = 1 << 18;

/* Number of bytes in the ring above which no more stacks are copied; set before loading. */
const volatile __u64 pfs_late_limit_bytes = 1 << 19;

/*
 * The collector, whose ticks and whose children's are excluded; 0: no process is. Set before
 * loading.
 */
const volatile __u32 pfs_excluded_pid = 0;

/* Set by the collector if any image has PFS_VERDICT_DROP. */
volatile __u32 pfs_drops = 0;

/*
 * Controller whose hierarchy of control groups is reported in addition to the unified one; set
 * before loading.
 */
const volatile __u32 pfs_controller = PFS_CONTROLLER_NONE;

/* Returns true for the collector and its children, the symbol workers. */
static __always_inline int
pfs_is_excluded(const struct pfs_sample *sample)
{
	return pfs_excluded_pid &&
		   (sample->pid == pfs_excluded_pid || sample->parent_pid == pfs_excluded_pid);
}

/* Returns true for threads of a user process that the kernel created for its own work. */
static __always_inline int
pfs_is_worker(unsigned int task_flags)
{
	if (task_flags & PFS_PF_IO_WORKER)
		return 1;
	/* the flag has another meaning in kernels without this field */
	return bpf_core_field_exists(struct kernel_clone_args, user_worker) &&
		   (task_flags & PFS_PF_USER_WORKER);
}

/* Returns the id of the task's control group in the hierarchy of a controller. */
static __always_inline __u64
pfs_group_of(struct task_struct *task, __u64 subsystem)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = 0;

	/*
	 * the index is a number of the running kernel, so CO-RE cannot relocate the access to
	 * subsys[subsystem]
	 */
	bpf_probe_read_kernel(&state, sizeof(state),
						  (char *) __builtin_preserve_access_index(&set->subsys[0]) +
							  subsystem * sizeof(state));
	return BPF_CORE_READ(state, cgroup, kn, id);
}

static __always_inline __u64
pfs_controller_cgroup_id(struct task_struct *task)
{
	if (pfs_controller == PFS_CONTROLLER_MEMORY &&
		bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return pfs_group_of(task, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	if (pfs_controller == PFS_CONTROLLER_PIDS &&
		bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id))
		return pfs_group_of(task, bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id));
	if (pfs_controller == PFS_CONTROLLER_CPU &&
		bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return pfs_group_of(task, bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
	return 0;
}

/* Sets the flags for the kind of task, and the address of its image's arguments. */
static __always_inline void
pfs_describe_image(struct pfs_sample *sample, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	unsigned int flags = BPF_CORE_READ(task, flags);

	sample->arg_start = 0;
	sample->flags = 0;
	/*
	 * A task has no user stack if it is a kernel thread, or has no image: in the middle of exec
	 * start_code is 0, near the end of its exit mm is NULL.
	 */
	if (flags & PFS_PF_KTHREAD)
		sample->flags = PFS_SAMPLE_KERNEL_THREAD;
	else if (!mm || !BPF_CORE_READ(mm, start_code))
		sample->flags = PFS_SAMPLE_NO_IMAGE;
	else
	{
		if (pfs_is_worker(flags))
			sample->flags = PFS_SAMPLE_WORKER;
		sample->arg_start = BPF_CORE_READ(mm, arg_start);
	}
}

/* Fills in the fields that can be read of any task, in any context. */
static __always_inline void
pfs_describe_any(struct pfs_sample *sample, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	sample->time_ns = bpf_ktime_get_ns();
	sample->controller_cgroup_id = pfs_controller_cgroup_id(task);
	sample->cpu = bpf_get_smp_processor_id();
	/* of the process, not of the thread: the collector keeps its facts by process */
	sample->start_time_ns = BPF_CORE_READ(leader, start_boottime);
	sample->exec_id = BPF_CORE_READ(leader, self_exec_id);
	sample->parent_pid = (__u32) BPF_CORE_READ(leader, real_parent, tgid);
	sample->kernel_count = 0;
	sample->user_count = 0;
	sample->kernel_error = 0;
	sample->user_status = 0;
	pfs_describe_image(sample, task);
	BPF_CORE_READ_INTO(&sample->process_comm, leader, comm);
}

/* Fills in the fields of the current task. */
static __always_inline void
pfs_describe_task(struct pfs_sample *sample, struct task_struct *task)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	pfs_describe_any(sample, task);
	sample->cgroup_id = bpf_get_current_cgroup_id();
	sample->pid = (__u32) (pid_tgid >> 32);
	sample->tid = (__u32) pid_tgid;
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
}

/*
 * Walks the kernel stack into the scratch. Tasks in user mode are skipped, because the helper would
 * clear all the room that it is given. The context is the program's, of any type.
 */
static __always_inline void
pfs_walk_kernel(void *context, struct pfs_scratch *scratch)
{
	struct pfs_sample *sample = &scratch->sample;
	long length;

	length = bpf_get_stack(context, scratch->words, PFS_MAX_FRAMES * sizeof(__u64), 0);
	if (length < 0)
	{
		sample->kernel_error = (__u8) -length;
		pfs_count(PFS_COUNTER_KERNEL_STACK_FAILED);
	}
	else
		sample->kernel_count = (__u16) ((__u64) length / sizeof(__u64));
}

/*
 * Looks up the image's verdict, and whether the image is young: true for its first sample, and for
 * the 2nd, 4th and 8th until it is described. Images map their libraries after they begin to run,
 * and may end before the collector's timer fires.
 */
static __always_inline void
pfs_know_image(struct pfs_scratch *scratch)
{
	const struct pfs_sample *sample = &scratch->sample;
	struct pfs_image image = { sample->start_time_ns, sample->exec_id, 1, 0 };
	struct pfs_image *known;
	__u32 pid = sample->pid;
	__u32 samples;

	scratch->verdict = 0;
	scratch->young = 0;
	/*
	 * the collector has described the image, so it need not be woken; a walk that lacks a table
	 * asks for it
	 */
	if (!pfs_drops && pfs_described(sample))
		return;
	known = bpf_map_lookup_elem(&pfs_images, &pid);
	if (known && known->start_time_ns == image.start_time_ns && known->exec_id == image.exec_id)
	{
		scratch->verdict = known->verdict;
		/*
		 * kernel threads, workers and tasks without an image are not described, so they wake nobody
		 */
		if (sample->flags)
			return;
		/*
		 * Threads of a process may overwrite each other's count, which is harmless. The 1st, 2nd,
		 * 4th and 8th sample are young: a power of two has one bit.
		 */
		samples = ++known->samples;
		scratch->young = samples <= 8 && !(samples & (samples - 1));
	}
	else if (!sample->flags)
	{
		bpf_map_update_elem(&pfs_images, &pid, &image, BPF_ANY);
		scratch->young = 1;
	}
}

/*
 * Sends the sample with a copy of its stack. Returns false if the ring is filling up: copies may
 * use half of the ring, the rest is for samples.
 */
static __always_inline int
pfs_emit_with_stack(struct pfs_scratch *scratch, struct task_struct *task, __u64 frame_bytes,
					__u64 waiting_bytes, __u64 flags)
{
	__u64 late_bytes;

	if (waiting_bytes > pfs_late_limit_bytes)
		return 0;
	late_bytes = pfs_hand_over(scratch, task,
							   (__u32) ((frame_bytes - sizeof(scratch->sample)) / sizeof(__u64)));
	if (late_bytes == 0 || late_bytes > sizeof(struct pfs_late))
		return 0;
	scratch->sample.flags |= PFS_SAMPLE_LATE;
	/* no room for the copy: the caller sends the sample without it, and without the flag */
	if (!bpf_ringbuf_output(&pfs_ring, &scratch->sample, frame_bytes + late_bytes, flags))
		return 1;
	scratch->sample.flags &= (__u8) ~PFS_SAMPLE_LATE;
	return 0;
}

/* Clamps through a barrier, so that the verifier keeps the bound after spills. */
static __always_inline __u64
pfs_at_most(__u64 number, __u64 most)
{
	barrier_var(number);
	return number > most ? most : number;
}

/*
 * Appends the thread's labels if its process is known to have some; returns the number of their
 * words.
 */
static __always_inline __u32
pfs_labels_of(struct pfs_scratch *scratch, struct task_struct *task, __u32 words)
{
	struct pfs_sample *sample = &scratch->sample;
	__u32 added;

	if (sample->flags || sample->user_status == PFS_WALK_NO_PROCESS ||
		sample->user_status == PFS_WALK_NO_REGISTERS ||
		scratch->walk.process.labels.kind == PFS_LABELS_NONE)
		return 0;
	added = pfs_add_labels(scratch, task, words);
	if (added)
		sample->flags |= PFS_SAMPLE_LABELS;
	return added;
}

/*
 * Appends the interpreter's chain if the process is known to have one; returns the number of its
 * words.
 */
static __always_inline __u32
pfs_chain_of(struct pfs_scratch *scratch, __u32 words)
{
	struct pfs_sample *sample = &scratch->sample;
	__u32 added;

	if (!pfs_has_chain(scratch->chain.runtime.kind) || (sample->flags & ~PFS_SAMPLE_LABELS) ||
		sample->user_status == PFS_WALK_NO_REGISTERS)
		return 0;
	added = pfs_add_chain(scratch->slot, words);
	if (added)
		sample->flags |= PFS_SAMPLE_CHAIN;
	return added;
}

/*
 * Sends the sample. Wakes the collector only if information would be lost before its timer fires.
 */
static __always_inline void
pfs_emit(struct pfs_scratch *scratch, struct task_struct *task)
{
	const struct pfs_sample *sample = &scratch->sample;
	__u64 waiting_bytes = bpf_ringbuf_query(&pfs_ring, BPF_RB_AVAIL_DATA);
	__u64 words = (__u64) sample->kernel_count + pfs_walk_kept(sample->user_count);
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u64 frame_bytes;

	/* always false; the verifier does not know the counts */
	if (words > PFS_FRAME_WORDS)
		words = PFS_FRAME_WORDS;
	/*
	 * Labels, then the chain, then the copy of the stack: the order in which the collector reads
	 * the record.
	 */
	words += pfs_labels_of(scratch, task, (__u32) words);
	words = pfs_at_most(words, PFS_FRAME_WORDS + PFS_LABEL_WORDS);
	words += pfs_chain_of(scratch, (__u32) words);
	words = pfs_at_most(words, PFS_RECORD_WORDS);
	frame_bytes = sizeof(*sample) + words * sizeof(__u64);
	/* unknown code may be generated code that is gone when the timer fires */
	if (scratch->young || sample->user_status == PFS_WALK_NO_MAPPING ||
		waiting_bytes > pfs_wakeup_bytes)
	{
		flags = BPF_RB_FORCE_WAKEUP;
		pfs_count(PFS_COUNTER_WAKEUPS);
	}
	if (pfs_walk_is_late(sample) && (scratch->verdict & PFS_VERDICT_NO_COPY))
		pfs_count(PFS_COUNTER_LATE_USELESS);
	else if (pfs_walk_is_late(sample))
	{
		if (pfs_emit_with_stack(scratch, task, frame_bytes, waiting_bytes, flags))
		{
			pfs_count(PFS_COUNTER_LATE);
			pfs_count(PFS_COUNTER_SAMPLES);
			return;
		}
		pfs_count(PFS_COUNTER_LATE_SKIPPED);
	}
	/* the verifier has lost the bound in the calls above */
	frame_bytes = pfs_at_most(frame_bytes, sizeof(*sample) + PFS_RECORD_WORDS * sizeof(__u64));
	if (bpf_ringbuf_output(&pfs_ring, &scratch->sample, frame_bytes, flags))
		pfs_count(PFS_COUNTER_RING_FULL);
	else
		pfs_count(PFS_COUNTER_SAMPLES);
}

/*
 * Decides whether an amount is kept. An amount of d is kept with probability min(1, d / period),
 * and then stands for max(d, period). The period is below 2^32.
 */
static __always_inline int
pfs_keeps_drawn(__u32 draw, __u64 amount, __u64 period)
{
	/*
	 * draw * period >> 32 is uniform in 0 .. period - 1, so it is below the amount with the
	 * probability amount / period
	 */
	return amount >= period || (draw * period >> 32) < amount;
}

static __always_inline int
pfs_keeps(__u64 amount, __u64 period)
{
	return amount >= period || pfs_keeps_drawn(bpf_get_prandom_u32(), amount, period);
}

/*
 * Begins a sample of the current task in a scratch. Returns NULL if there is no scratch or the
 * sample is not wanted, which a counter records.
 */
static __always_inline struct pfs_scratch *
pfs_begin_sample_in(struct pfs_scratch *scratch, struct task_struct *task)
{
	if (!scratch)
	{
		pfs_count(PFS_COUNTER_NO_SCRATCH);
		return 0;
	}
	/* the scratch is taken first, because a sample is too large for the stack of a BPF program */
	pfs_describe_task(&scratch->sample, task);
	if (pfs_is_excluded(&scratch->sample))
		pfs_count(PFS_COUNTER_SELF);
	else
	{
		pfs_know_image(scratch);
		if (!(scratch->verdict & PFS_VERDICT_DROP))
			return scratch;
		pfs_count(PFS_COUNTER_DROPPED);
	}
	pfs_give_scratch(scratch);
	return 0;
}

/*
 * Begins a sample of the current task in one of the CPU's scratches. Returns NULL if there is none
 * or the sample is not wanted, which a counter records.
 */
static __always_inline struct pfs_scratch *
pfs_begin_sample(struct task_struct *task)
{
	pfs_count(PFS_COUNTER_EVENTS);
	/* the idle task of a CPU has thread id 0 */
	if (!(__u32) bpf_get_current_pid_tgid())
	{
		pfs_count(PFS_COUNTER_IDLE);
		return 0;
	}
	return pfs_begin_sample_in(pfs_take_scratch(), task);
}

/*
 * Completes the walk of the user side, if it was begun, sends the sample and returns the scratch.
 */
static __always_inline void
pfs_finish_sample(struct pfs_scratch *scratch, struct task_struct *task)
{
	__u64 spent_ns;

	/* before the walk, which handles the frames of PHP's and HotSpot's compiled code */
	pfs_find_runtime(scratch);
	if (!scratch->sample.flags)
		pfs_walk_user(scratch);
	pfs_emit(scratch, task);
	spent_ns = bpf_ktime_get_ns() - scratch->sample.time_ns;
	pfs_add(PFS_COUNTER_TIME_NS, spent_ns);
	if (scratch->sample.flags & PFS_SAMPLE_LATE)
		pfs_add(PFS_COUNTER_LATE_NS, spent_ns);
	pfs_give_scratch(scratch);
}

/* Takes a sample of a perf event, which stands for the event's period. */
static __always_inline void
pfs_sample_event(struct bpf_perf_event_data *context, __u8 kind)
{
	struct task_struct *task = (struct task_struct *) bpf_get_current_task();
	struct pfs_scratch *scratch = pfs_begin_sample(task);

	if (!scratch)
		return;
	scratch->sample.kind = kind;
	scratch->sample.value = context->sample_period;
	scratch->sample.period = scratch->sample.value;
	/*
	 * In user mode the event's registers are the task's. In the kernel they are the kernel's, and
	 * the task's were saved at its entry.
	 */
	if (pfs_in_user_mode(&context->regs))
		pfs_begin_walk(&scratch->walk, &context->regs, task);
	else
	{
		pfs_walk_kernel(context, scratch);
		if (!scratch->sample.flags)
			pfs_begin_walk_of_task(scratch, task);
	}
	pfs_finish_sample(scratch, task);
}

#endif
