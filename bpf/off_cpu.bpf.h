/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * off_cpu.bpf.h
 *		Time that threads spend off the CPU: programs at the end of a switch, at the birth of a
 *		thread, and one that iterates over all threads.
 *
 * No time stamp is taken when a thread leaves the CPU: its time off the CPU is the elapsed time
 * minus its run time, which the kernel accounts. So one program is enough. It runs in the thread
 * that was just switched to, whose stack is still the one with which it left.
 *
 * A wait of length d is kept with probability min(1, d / period), and then stands for max(d,
 * period), so that the expected sum is the time waited, and the number of samples is bounded by it.
 * Ongoing waits are closed from time to time, so that each interval contains its part of them, in
 * three steps:
 *
 * 1. pfs_tend_waits iterates over all threads, writes the samples of those that wait, with their
 *    registers, to its reader, and marks these threads.
 * 2. The collector reads their stacks in threads that it may abandon, because a page of another
 *    process's memory may be filled late or never by whoever controls that process. A BPF program
 *    must not wait for that.
 * 3. pfs_confirm_waits iterates again and closes the waits of the threads that have not run since
 *    they were marked, so that their stacks have not changed.
 *
 * sched_exit_tp (6.15) is called without a lock. On older kernels finish_task_switch is probed,
 * whose end releases the run queue's lock: nothing may be allocated there, so storage is created at
 * the birth of threads, and by pfs_tend_waits for existing threads.
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

/*
 * Waits shorter than this (in ns) are kept with a probability. The collector lengthens it if there
 * are more waits than its limit.
 */
volatile __u64 pfs_wait_period = 0;

/* One of this many ongoing waits is written, and counts as that many. */
volatile __u32 pfs_tend_one_in = 0;

/* Seed of the current round, combined with the thread's number for each draw. */
volatile __u64 pfs_tend_seed = 0;

/*
 * Switches are watched during one of this number of seconds; each counts as this number of
 * switches.
 */
volatile __u32 pfs_watch_one_in = 0;

/* Set to restart all waits, because switches were not watched until now. */
volatile __u32 pfs_tend_forgets = 0;

/*
 * Set at the end of the run, when no program will see the end of ongoing waits. Short waits are
 * then sampled, too.
 */
volatile __u32 pfs_tend_ends = 0;

/* Number of waits found by pfs_tend_waits, which is also its last mark. */
volatile __u64 pfs_waits_tended = 0;
volatile __u64 pfs_threads_visited = 0; /* number of threads visited by pfs_tend_waits */
volatile __u64 pfs_last_mark = 0;

/*
 * pfs_confirm_waits closes the waits with marks above pfs_confirm_after and up to
 * pfs_confirm_until. The collector has not completely read the records of waits with later marks.
 */
volatile __u64 pfs_confirm_after = 0;
volatile __u64 pfs_confirm_until = 0;

/* Scratch of pfs_tend_waits, separate because other programs may preempt it; set before loading. */
const volatile __u32 pfs_tend_slot = 0;

#define PFS_TMPFS_MAGIC 0x01021994

#define PFS_LOOKS_A_MEASURE 64

struct pfs_wait {
	__u64 away_ns;	   /* time off the CPU, from an arbitrary origin: only differences are used */
	__u64 involuntary; /* nivcsw when the thread was last switched to */
	__u64 known;	   /* the fields above are valid */
	__u64 mark;		   /* mark set by pfs_tend_waits; 0: not marked */
	__u64 switches;	   /* nvcsw + nivcsw when the thread was marked */
	/*
	 * away_ns when the wait was marked; it becomes the new origin of away_ns when the wait is
	 * confirmed
	 */
	__u64 before_ns;
	__u64 until_ns;
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
	/* the origin is arbitrary, and equal for all readings of one thread */
	return bpf_ktime_get_ns() - task->se.sum_exec_runtime;
}

/* Returns true for threads whose waits are ignored: kernel threads waiting for work. */
static __always_inline int
pfs_waits_unseen(const struct task_struct *task)
{
	return !task->pid || (task->flags & PFS_PF_KTHREAD);
}

/* Returns 1 for a thread that is off the CPU only because it waits for a CPU. */
static __always_inline __u64
pfs_would_run(const struct task_struct *task)
{
	return !task->on_cpu && (task->__state == 0 || (task->__state & PFS_TASK_NEW));
}

/* Starts the accounting of a thread's waits. */
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
	/*
	 * known is set last: the program at a switch, on this or another CPU, uses the other fields
	 * only if it is set
	 */
	wait->away_ns = pfs_away_ns(task);
	/* a runnable thread that was just born or preempted waits for a CPU only */
	wait->involuntary = task->nivcsw - pfs_would_run(task);
	barrier();
	wait->known = 1;
}

/* Returns the reason why a thread is off the CPU, or was until just now. */
static __always_inline __u8
pfs_kind_of_wait(const struct task_struct *task, int preempted)
{
	if (preempted)
		return PFS_KIND_WAIT_PREEMPTED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return PFS_KIND_WAIT_IO;
	/* describes the last sleep; the load average uses it */
	if (BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load))
		return PFS_KIND_WAIT_UNINTERRUPTIBLE;
	return PFS_KIND_WAIT_SLEEP;
}

/* Returns the length of the current thread's wait if it is kept; otherwise 0. */
static __always_inline __u64
pfs_end_wait(struct task_struct *task, __u64 period, int *preempted)
{
	struct pfs_wait *wait = bpf_task_storage_get(&pfs_waits, task, 0, 0);
	__u64 before;
	__u64 away;
	__u64 involuntary;

	if (!wait || !wait->known)
		return 0;
	before = wait->away_ns;
	away = pfs_away_ns(task);
	involuntary = task->nivcsw;
	/*
	 * nivcsw counts the switches at which the thread was still runnable; if it has grown, the
	 * thread was preempted
	 */
	*preempted = involuntary != wait->involuntary;
	wait->involuntary = involuntary;
	/* clocks are not read at one moment; the difference counts the next time */
	if ((__s64) (away - before) <= 0)
		return 0;
	/* pfs_tend_waits or pfs_confirm_waits on another CPU has closed this wait meanwhile */
	if (__sync_val_compare_and_swap(&wait->away_ns, before, away) != before)
		return 0;
	return pfs_keeps(away - before, period) ? away - before : 0;
}

/* Handles a switch to the current thread. */
static __always_inline int
pfs_switched_to(void *context, struct task_struct *task)
{
	struct pfs_scratch *scratch;
	__u64 period = pfs_wait_period;
	__u64 begin_ns = 0;
	__u64 waited;
	int preempted = 0;

	if (pfs_waits_unseen(task))
		return 0;
	/* measure the cost only at some switches of each thread, because clocks cost time, too */
	if (!((task->nvcsw + task->nivcsw) % PFS_LOOKS_A_MEASURE))
		begin_ns = bpf_ktime_get_ns();
	waited = pfs_end_wait(task, period, &preempted);
	if (begin_ns)
		pfs_add(PFS_COUNTER_LOOK_NS, (bpf_ktime_get_ns() - begin_ns) * PFS_LOOKS_A_MEASURE);
	/* most waits are short and not kept, so nothing else is read for them */
	if (!waited)
		return 0;
	pfs_count(PFS_COUNTER_WAITS);
	scratch = pfs_begin_sample((struct task_struct *) bpf_get_current_task());
	if (!scratch)
		return 0;
	scratch->sample.kind = pfs_kind_of_wait(task, preempted);
	scratch->sample.value = (waited > period ? waited : period) * pfs_watch_one_in;
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

/* Attached to finish_task_switch under the name that it has in this kernel. */
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
	__u64 begin_ns = bpf_ktime_get_ns();

	(void) ctx;
	if (!pfs_waits_unseen(task))
		pfs_begin_waits(task);
	pfs_add(PFS_COUNTER_LOOK_NS, bpf_ktime_get_ns() - begin_ns);
	return 0;
}

/* Describes a waiting thread, called in another thread. */
static __always_inline void
pfs_describe_waiting(struct pfs_sample *sample, struct task_struct *task)
{
	pfs_describe_any(sample, task);
	sample->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	sample->pid = (__u32) task->tgid;
	sample->tid = (__u32) task->pid;
	BPF_CORE_READ_INTO(&sample->comm, task, comm);
}

/* Address range of a thread's stack that may be read; both are 0 if there is none. */
struct pfs_stack_area {
	__u64 start;
	__u64 end;
};

/*
 * Accepts memory that the kernel itself fills: shared memory, but no other file, and no memory of
 * userfaultfd, which another thread fills.
 */
static long
pfs_judge_area(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct pfs_stack_area *area = context;

	(void) task;
	if (vma->vm_file && BPF_CORE_READ(vma, vm_file, f_inode, i_sb, s_magic) != PFS_TMPFS_MAGIC)
		return 0;
	if (bpf_core_field_exists(vma->vm_userfaultfd_ctx) &&
		BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
		return 0;
	area->start = vma->vm_start;
	area->end = vma->vm_end;
	return 0;
}

/*
 * Returns a bit for each page that the collector must read from address on; 0 if the lock cannot be
 * taken at once because the process changes its mappings. Mappings may change before the pages are
 * read, so this avoids most readings that would hang, but not all.
 */
static __always_inline __u64
pfs_readable_pages(struct task_struct *task, __u64 address)
{
	struct pfs_stack_area area = { 0, 0 };
	__u64 pages;

	if (bpf_find_vma(task, address, pfs_judge_area, &area, 0) || address < area.start ||
		address >= area.end)
		return 0;
	pages = (area.end - address) / PFS_LATE_CHUNK_BYTES;
	return pages >= PFS_TEND_PAGES ? (1ULL << PFS_TEND_PAGES) - 1 : (1ULL << pages) - 1;
}

/*
 * Like pfs_goes_on_behind_call(), but for another task, whose memory cannot be read: a system call
 * instruction leaves the address after it in a register, unlike other entries.
 */
static __always_inline int
pfs_waits_in_system_call(const pfs_registers *registers)
{
#ifdef PFS_ARM64
	(void) registers;
	return 0;
#else
	return registers->orig_rax != ~0UL && registers->rcx == registers->rip;
#endif
}

/*
 * Adds the user side of a waiting thread: its innermost frame and, for the walk in user space, the
 * registers and the bits of its stack's pages. Returns the words after the kernel's frames.
 */
static __always_inline __u64
pfs_take_waiting_stack(struct pfs_scratch *scratch, struct task_struct *task)
{
	struct pfs_sample *sample = &scratch->sample;
	pfs_registers *saved = &scratch->saved;
	__u64 words = sample->kernel_count;
	struct pfs_late *late;

	/* clamp through a barrier, so that the verifier keeps the bound after spills */
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
	if (pfs_waits_in_system_call(saved))
		scratch->walk.at.is_return = 1;
	/* the collector walks the whole stack, as for a process that the kernel does not know yet */
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
	late->chunks = pfs_readable_pages(task, late->address);
	late->other_address = 0;
	late->other_chunks = 0;
	/* the collector reads this number, and those pages whose bits are set in chunks */
	late->unloaded = PFS_UNLOADED_UNKNOWN;
	late->length = 0;
	return 1 + (sizeof(*late) - sizeof(late->bytes)) / sizeof(__u64);
}

/* Writes the sample of a waiting thread to the iterator's reader, and marks the thread. */
static __always_inline void
pfs_write_wait(struct bpf_iter__task *context, struct task_struct *task,
			   struct pfs_scratch *scratch, struct pfs_wait *wait)
{
	struct pfs_sample *sample = &scratch->sample;
	struct pfs_tended tended = { .mark = pfs_last_mark + 1 };
	__u64 switches = task->nvcsw + task->nivcsw;
	__u64 bytes;
	long length;

	length = bpf_get_task_stack(task, scratch->words, PFS_MAX_FRAMES * sizeof(__u64), 0);
	if (length < 0)
		sample->kernel_error = (__u8) -length;
	else
		sample->kernel_count = (__u16) ((__u64) length / sizeof(__u64));
	bytes = sizeof(*sample) +
			(sample->kernel_count + pfs_take_waiting_stack(scratch, task)) * sizeof(__u64);
	tended.length = bytes;
	/* if the buffer is full, the kernel has it read and calls this program for the task again */
	if (bpf_seq_write(context->meta->seq, &tended, sizeof(tended)))
		return;
	/* checked here, where it is used, because some kernels forget the bounds of spilled values */
	barrier_var(bytes);
	if (bytes > sizeof(*sample) + sizeof(scratch->words) ||
		bpf_seq_write(context->meta->seq, sample, (__u32) bytes))
		return;
	if (length < 0)
		pfs_count(PFS_COUNTER_KERNEL_STACK_FAILED);
	if (sample->flags & PFS_SAMPLE_LATE)
		pfs_count(PFS_COUNTER_LATE);
	/* only after both writes: a record that found no room is written again, under the same mark */
	wait->switches = switches;
	wait->mark = tended.mark;
	pfs_last_mark = tended.mark;
	pfs_waits_tended++;
}

/*
 * Draws the thread's number of this round, without state: the kernel calls pfs_tend_waits again for
 * a thread whose record found no room, and a second draw would drop some threads that the first has
 * kept.
 */
static __always_inline __u64
pfs_draw_of_round(const struct task_struct *task)
{
	__u64 draw = pfs_tend_seed ^ (__u32) task->pid;

	/* MurmurHash3's finalizer: each bit of the result depends on all bits of the input */
	draw = (draw ^ draw >> 33) * 0xFF51AFD7ED558CCDULL;
	draw = (draw ^ draw >> 33) * 0xC4CEB9FE1A85EC53ULL;
	return draw ^ draw >> 33;
}

/* Begins to close the wait of a thread at this moment. */
static __always_inline void
pfs_tend_wait(struct bpf_iter__task *context, struct task_struct *task, struct pfs_scratch *scratch,
			  struct pfs_wait *wait)
{
	struct pfs_sample *sample = &scratch->sample;
	__u64 period = pfs_wait_period;
	__u64 before = wait->away_ns;
	__u64 away = pfs_away_ns(task);
	__u64 involuntary = task->nivcsw;
	__u32 one_in = pfs_tend_one_in;
	__u64 draw = pfs_draw_of_round(task);

	/* the time of a running thread is not in the sum yet; the switch ends its wait */
	if ((__s64) (away - before) <= 0 || task->on_cpu)
		return;
	/* a short wait goes on, and is sampled at its end or in a later round */
	if (away - before < period &&
		(!pfs_tend_ends || !pfs_keeps_drawn((__u32) draw, away - before, period)))
		return;
	/* uses the other half of the number, so that both draws are independent */
	if (one_in > 1 && (__u32) (draw >> 32) % one_in)
	{
		pfs_waits_tended++;
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
	if (scratch->verdict & PFS_VERDICT_DROP)
	{
		if (__sync_val_compare_and_swap(&wait->away_ns, before, away) == before)
		{
			pfs_count(PFS_COUNTER_EVENTS);
			pfs_count(PFS_COUNTER_WAITS);
			pfs_count(PFS_COUNTER_DROPPED);
		}
		return;
	}
	sample->kind = pfs_kind_of_wait(task, involuntary != wait->involuntary);
	sample->value = (away - before > period ? away - before : period) * one_in * pfs_watch_one_in;
	sample->period = period;
	/* pfs_confirm_waits closes the wait, if the thread has not run until then */
	wait->before_ns = before;
	wait->until_ns = away;
	/* not measured by TIME_NS, because the kernel charges this time to the reading thread */
	pfs_write_wait(context, task, scratch, wait);
}

/* Runs when its iterator is read, by one thread at a time, because it has one scratch. */
SEC("iter/task")
int
pfs_tend_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pfs_scratch *scratch = pfs_get_scratch(pfs_tend_slot);
	struct pfs_wait *wait;

	pfs_threads_visited++;
	if (!task || !scratch || pfs_waits_unseen(task))
		return 0;
	wait = bpf_task_storage_get(&pfs_waits, task, 0, 0);
	if (!wait || !wait->known || pfs_tend_forgets)
		pfs_begin_waits(task);
	else
		pfs_tend_wait(ctx, task, scratch, wait);
	return 0;
}

/*
 * Writes the marks of the threads whose waits it closes. The other threads have run meanwhile, so
 * the program at the switch has handled their waits.
 */
SEC("iter/task")
int
pfs_confirm_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pfs_wait *wait;
	__u64 mark;

	if (!task || pfs_waits_unseen(task))
		return 0;
	wait = bpf_task_storage_get(&pfs_waits, task, 0, 0);
	if (!wait || wait->mark <= pfs_confirm_after || wait->mark > pfs_confirm_until)
		return 0;
	mark = wait->mark;
	/* the mark is used once, whether the wait is closed or not */
	wait->mark = 0;
	if (task->on_cpu || task->nvcsw + task->nivcsw != wait->switches ||
		__sync_val_compare_and_swap(&wait->away_ns, wait->before_ns, wait->until_ns) !=
			wait->before_ns)
		return 0;
	pfs_count(PFS_COUNTER_EVENTS);
	pfs_count(PFS_COUNTER_WAITS);
	pfs_count(PFS_COUNTER_SAMPLES);
	bpf_seq_write(ctx->meta->seq, &mark, sizeof(mark));
	return 0;
}

#endif
