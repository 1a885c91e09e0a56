/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * events.h
 *		What the BPF programs hand to the collector: the only header that both sides share.
 *
 * One ring buffer record is a struct pfs_sample followed by its stack, leaf first:
 *
 *		| struct pfs_sample (96 bytes) | kernel_count × u64 | user_count × u64 |
 *
 * Addresses are absolute, in the kernel's and the process's address space. A stack that could not
 * be walked leaves count 0 and the errno beside it; the sample is sent all the same.
 */
#ifndef PFS_EVENTS_H
#define PFS_EVENTS_H

#include <linux/types.h>

/* Per half of the stack: kernel.perf_event_max_stack's default, and so bpf_get_stack's limit. */
#define PFS_MAX_FRAMES 127
#define PFS_COMM_BYTES 16

/* struct pfs_sample.flags */
#define PFS_SAMPLE_KERNEL_THREAD 0x01 /* no user side by nature */
#define PFS_SAMPLE_EXITING		 0x02 /* gave up its memory: no user side any more */

struct pfs_sample {
	__u64 time_ns;		 /* CLOCK_MONOTONIC */
	__u64 cgroup_id;	 /* in the unified hierarchy */
	__u64 start_time_ns; /* of the process, since boot */
	__u64 exec_id;		 /* tells the images apart that one process executes in turn */
	__u64 arg_start;	 /* mm->arg_start, which /proc/PID/stat shows too; 0 if none yet */
	__u32 pid;			 /* of the process (tgid), as the initial pid namespace sees it */
	__u32 tid;
	__u32 parent_pid;
	__u32 cpu;
	__u16 kernel_count; /* frames */
	__u16 user_count;
	__u8 kernel_error; /* errno of the walk, 0 where it went well */
	__u8 user_error;
	__u8 flags; /* PFS_SAMPLE_* */
	__u8 unused;
	char comm[PFS_COMM_BYTES];		   /* of the thread */
	char process_comm[PFS_COMM_BYTES]; /* of the thread group's leader */
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_sample) == 96, "the ring buffer record has no hidden padding");
#endif

/*
 * Counters of the programs, one per-CPU array slot each. Every early return bumps one:
 * X(identifier, name, what)
 */
#define PFS_COUNTERS(X)                                                                 \
	X(EVENTS, "events", "timer ticks that reached the program")                         \
	X(IDLE, "idle", "ticks that found the CPU idle")                                    \
	X(SAMPLES, "samples", "samples put into the ring buffer")                           \
	X(RING_FULL, "ring_full", "samples lost because the ring buffer was full")          \
	X(NO_SCRATCH, "no_scratch", "samples lost because the per-CPU scratch was missing") \
	X(KERNEL_STACK_FAILED, "kernel_stack_failed", "samples without their kernel stack") \
	X(USER_STACK_FAILED, "user_stack_failed", "samples without their user stack")       \
	X(WAKEUPS, "wakeups", "times the collector was woken ahead of its timer")

enum pfs_counter {
#define PFS_COUNTER_ID(identifier, name, what) PFS_COUNTER_##identifier,
	PFS_COUNTERS(PFS_COUNTER_ID)
#undef PFS_COUNTER_ID
	PFS_COUNTER_COUNT
};

#endif
