/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * off_cpu.bpf.h
 *		Time that threads spend off the CPU: entry points at the end of a switch and at the birth of
 *		a thread, and one that goes through all threads.
 *
 * How long a thread was away is not stamped as it leaves: it is what the time since then has more
 * than the thread has run, and the kernel keeps that sum itself. So one program is enough, which
 * runs in the thread that has just been switched to, where its own stack can be walked: it is as it
 * was when the thread left.
 *
 * A wait of d is kept with the probability min(1, d / period), and then stands for max(d, period):
 * the expected sum is what was waited, and the number of samples is bounded by it. Waits that go on
 * are closed by pfs_tend_waits from time to time, so that each interval has its part.
 *
 * sched_exit_tp (6.15) is called with no lock held. Before there was one, finish_task_switch is
 * probed, whose end releases the run queue: nothing may be allocated there, so storage is made
 * where threads are born, and by pfs_tend_waits for those that are there already.
 */
#ifndef PFS_OFF_CPU_BPF_H
#define PFS_OFF_CPU_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "sample.bpf.h"

_Static_assert((PFS_MAX_FRAMES & (PFS_MAX_FRAMES + 1)) == 0, "the number of frames is a mask");

/* ns; what the collector makes longer where there are more waits than it wants */
volatile __u64 pfs_wait_period = 0;

/* Of the waits that go on, one in so many is told of, and stands for as many. */
volatile __u32 pfs_tend_one_in = 0;

/* Switches are looked at for one second in so many, and what is seen then stands for all. */
volatile __u32 pfs_watch_one_in = 0;

/* Is what threads have waited until now forgotten, as nobody looked? */
volatile __u32 pfs_tend_forgets = 0;

/* Will nobody see the end of the waits that go on? Then short ones count, too. */
volatile __u32 pfs_tend_ends = 0;

/* Waits that pfs_tend_waits left, as the ring was filling up; and those it looked at. */
volatile __u64 pfs_waits_put_off = 0;
volatile __u64 pfs_waits_tended = 0;

/* The scratch of pfs_tend_waits, which may be preempted by other programs; set before loading. */
const volatile __u32 pfs_tend_slot = 0;

/* Pages copied of the stack of a thread that waits: idle threads are many, and not deep. */
#define PFS_TEND_PAGES 4

struct pfs_wait {
	__u64 away_ns;	   /* off the CPU, of a time without a beginning: only differences count */
	__u64 involuntary; /* switches of the kind, when the thread was last switched to */
	__u64 known;	   /* the above hold */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pfs_wait);
} pfs_waits SEC(".maps");

static __always_inline __u64
pfs_away_ns(const struct task_struct *task)
{
	return bpf_ktime_get_ns() - task->se.sum_exec_runtime;
}

/* A thread whose waits are nobody's: the kernel's own wait for work. */
static __always_inline int
pfs_waits_unseen(const struct task_struct *task)
{
	return !task->pid || (task->flags & PFS_PF_KTHREAD);
}

/* 1 for a thread that is not on a CPU, and waits for one alone. */
static __always_inline __u64
pfs_would_run(const struct task_struct *task)
{
	return !task->on_cpu && (task->__state == 0 || (task->__state & PFS_TASK_NEW));
}

/* From now on. */
static __always_inline void
pfs_begin_waits(struct task_struct *task)
{
	struct pfs_wait *wait =
		bpf_task_storage_get(&pfs_waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!wait)
	{
		pfs_count(PFS_COUNTER_WAIT_NO_ROOM);
		return;
	}
	wait->away_ns = pfs_away_ns(task);
	/* who would run, but was born just now or had to make room, waits for a CPU and nothing else */
	wait->involuntary = task->nivcsw - pfs_would_run(task);
	barrier();
	wait->known = 1;
}

/* Why a thread is not on the CPU, or was not until just now. */
static __always_inline __u8
pfs_kind_of_wait(const struct task_struct *task, int preempted)
{
	if (preempted)
		return PFS_KIND_WAIT_PREEMPTED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return PFS_KIND_WAIT_IO;
	/* of its last sleep; what the load average counts */
	if (BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load))
		return PFS_KIND_WAIT_UNINTERRUPTIBLE;
	return PFS_KIND_WAIT_SLEEP;
}

/* The current thread has just been switched to. */
static __always_inline int
pfs_switched_to(void *context, struct task_struct *task)
{
	struct pfs_scratch *scratch;
	struct pfs_wait *wait;
	__u64 period = pfs_wait_period;
	__u64 before;
	__u64 away;
	__u64 involuntary;
	int preempted;

	if (pfs_waits_unseen(task))
		return 0;
	wait = bpf_task_storage_get(&pfs_waits, task, 0, 0);
	if (!wait || !wait->known)
		return 0;
	before = wait->away_ns;
	away = pfs_away_ns(task);
	involuntary = task->nivcsw;
	preempted = involuntary != wait->involuntary;
	wait->involuntary = involuntary;
	/* clocks are read one after the other: what is left over counts the next time */
	if ((__s64) (away - before) <= 0)
		return 0;
	if (__sync_val_compare_and_swap(&wait->away_ns, before, away) != before)
		return 0;
	if (!pfs_keeps(away - before, period))
		return 0;
	pfs_count(PFS_COUNTER_WAITS);
	scratch = pfs_begin_sample((struct task_struct *) bpf_get_current_task());
	if (!scratch)
		return 0;
	scratch->sample.kind = pfs_kind_of_wait(task, preempted);
	scratch->sample.value = (away - before > period ? away - before : period) * pfs_watch_one_in;
	scratch->sample.period = period;
	pfs_walk_kernel(context, scratch);
	if (!scratch->sample.flags)
		pfs_begin_walk_of_task(scratch, (struct task_struct *) bpf_get_current_task());
	pfs_finish_sample(scratch, (struct task_struct *) bpf_get_current_task());
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int
BPF_PROG(pfs_switch_end, _Bool is_switch)
{
	return is_switch ? pfs_switched_to(ctx, bpf_get_current_task_btf()) : 0;
}

/* Attached to finish_task_switch by the name that it has in the kernel. */
SEC("kprobe")
int
pfs_switch_probe(struct pt_regs *ctx)
{
	return pfs_switched_to(ctx, bpf_get_current_task_btf());
}

SEC("tp_btf/task_newtask")
int
BPF_PROG(pfs_thread_born, struct task_struct *task)
{
	(void) ctx;
	if (!pfs_waits_unseen(task))
		pfs_begin_waits(task);
	return 0;
}

/* Fills in who waits, seen from another thread. */
static __always_inline void
pfs_describe_waiting(struct pfs_sample *sample, struct task_struct *task)
{
	pfs_describe_any(sample, task);
	sample->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	sample->pid = (__u32) task->tgid;
	sample->tid = (__u32) task->pid;
	BPF_CORE_READ_INTO(&sample->comm, task, comm);
}

/*
 * The user side of a thread that waits: its innermost frame and, for the walk in user space, the
 * registers and the beginning of its stack. Returns the words behind the kernel's frames.
 */
static __always_inline __u64
pfs_take_waiting_stack(struct pfs_scratch *scratch, struct task_struct *task)
{
	struct pfs_sample *sample = &scratch->sample;
	pfs_registers *saved = &scratch->saved;
	__u64 words = sample->kernel_count;
	struct pfs_late *late;
	__u64 length = 0;

	/* a bound that the verifier keeps in mind, whatever register the number is in */
	barrier_var(words);
	words &= PFS_MAX_FRAMES;
	if (sample->flags)
		return 0;
	sample->user_status = PFS_WALK_NO_REGISTERS;
	if (bpf_probe_read_kernel(saved, sizeof(*saved), (void *) bpf_task_pt_regs(task)))
		return 0;
	pfs_begin_walk(&scratch->walk, saved, task);
	if (scratch->walk.status != PFS_WALK_RUNNING)
		return 0;
	scratch->walk.at.is_return = (__u8) pfs_in_system_call(saved);
	sample->user_status = PFS_WALK_NO_PROCESS;
	sample->user_count = 1;
	scratch->words[words] = pfs_walk_frame(&scratch->walk.at);
	if (scratch->verdict & PFS_VERDICT_NO_COPY)
	{
		pfs_count(PFS_COUNTER_LATE_USELESS);
		return 1;
	}
	sample->flags |= PFS_SAMPLE_LATE;
	late = (struct pfs_late *) &scratch->words[words + 1];
	late->at = scratch->walk.at;
	late->thread_pointer = pfs_thread_pointer(task);
	late->address = scratch->walk.at.sp & ~(__u64) (PFS_LATE_CHUNK_BYTES - 1);
	late->chunks = 0;
	late->other_address = 0;
	late->other_chunks = 0;
	for (__u32 page = 0; page < PFS_TEND_PAGES; page++)
	{
		if (bpf_copy_from_user_task(&late->bytes[length], PFS_LATE_CHUNK_BYTES,
									(void *) (late->address + page * PFS_LATE_CHUNK_BYTES), task,
									0))
			break;
		late->chunks |= 1ULL << page;
		length += PFS_LATE_CHUNK_BYTES;
	}
	late->length = length;
	return 1 + (sizeof(*late) - sizeof(late->bytes) + length) / sizeof(__u64);
}

/* Closes the wait of a thread up to now, and begins a new one. */
static __always_inline void
pfs_close_wait(struct pfs_scratch *scratch, struct task_struct *task, struct pfs_wait *wait)
{
	struct pfs_sample *sample = &scratch->sample;
	__u64 period = pfs_wait_period;
	__u64 before = wait->away_ns;
	__u64 away = pfs_away_ns(task);
	__u64 voluntary = task->nvcsw;
	__u64 involuntary = task->nivcsw;
	__u32 one_in = pfs_tend_one_in;
	__u64 bytes;
	long length;

	/* the time of one that runs is on its way into the sum; short ones end by themselves */
	if ((__s64) (away - before) <= 0 || task->on_cpu)
		return;
	if (away - before < period && (!pfs_tend_ends || !pfs_keeps(away - before, period)))
		return;
	pfs_waits_tended++;
	if (bpf_ringbuf_query(&pfs_ring, BPF_RB_AVAIL_DATA) > pfs_late_limit_bytes)
	{
		pfs_waits_put_off++;
		return;
	}
	if (one_in > 1 && bpf_get_prandom_u32() % one_in)
	{
		__sync_val_compare_and_swap(&wait->away_ns, before, away);
		return;
	}
	pfs_describe_waiting(sample, task);
	if (pfs_is_excluded(sample))
	{
		__sync_val_compare_and_swap(&wait->away_ns, before, away);
		return;
	}
	pfs_know_image(scratch);
	sample->kind = pfs_kind_of_wait(task, involuntary != wait->involuntary);
	sample->value = (away - before > period ? away - before : period) * one_in * pfs_watch_one_in;
	sample->period = period;
	length = bpf_get_task_stack(task, scratch->words, PFS_MAX_FRAMES * sizeof(__u64), 0);
	if (length < 0)
		sample->kernel_error = (__u8) -length;
	else
		sample->kernel_count = (__u16) ((__u64) length / sizeof(__u64));
	bytes = sizeof(*sample) +
			(sample->kernel_count + pfs_take_waiting_stack(scratch, task)) * sizeof(__u64);
	/* a stack that moved under our hands is nobody's: the thread's own program sees to its wait */
	if (task->on_cpu || task->nvcsw != voluntary || task->nivcsw != involuntary)
		return;
	if (__sync_val_compare_and_swap(&wait->away_ns, before, away) != before)
		return;
	pfs_count(PFS_COUNTER_EVENTS);
	pfs_count(PFS_COUNTER_WAITS);
	if (scratch->verdict & PFS_VERDICT_DROP)
	{
		pfs_count(PFS_COUNTER_DROPPED);
		return;
	}
	if (length < 0)
		pfs_count(PFS_COUNTER_KERNEL_STACK_FAILED);
	if (sample->flags & PFS_SAMPLE_LATE)
		pfs_count(PFS_COUNTER_LATE);
	if (bytes > sizeof(*sample) + sizeof(scratch->words) ||
		bpf_ringbuf_output(&pfs_ring, sample, bytes, BPF_RB_NO_WAKEUP))
		pfs_count(PFS_COUNTER_RING_FULL);
	else
		pfs_count(PFS_COUNTER_SAMPLES);
	pfs_add(PFS_COUNTER_TIME_NS, bpf_ktime_get_ns() - sample->time_ns);
}

/* Run by reading its iterator, by one thread at a time: it has one scratch. */
SEC("iter.s/task")
int
pfs_tend_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pfs_scratch *scratch = pfs_get_scratch(pfs_tend_slot);
	struct pfs_wait *wait;

	if (!task || !scratch || pfs_waits_unseen(task))
		return 0;
	wait = bpf_task_storage_get(&pfs_waits, task, 0, 0);
	if (!wait || !wait->known || pfs_tend_forgets)
		pfs_begin_waits(task);
	else
		pfs_close_wait(scratch, task, wait);
	return 0;
}

#endif
