/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * events.h
 *		What the BPF programs hand to the collector: the only header that both sides share.
 *
 * One ring buffer record is a struct pfs_sample followed by its stack, leaf first:
 *
 *		| pfs_sample, 120 bytes | kernel_count × u64 | user words × u64 | pfs_labels | pfs_chain …
 *		| pfs_late |
 *
 * Addresses are absolute, in the kernel's and the process's address space; those of user frames
 * carry PFS_FRAME_* bits, and a frame of interpreted code is several words. Of a user stack of more
 * than PFS_MAX_USER_FRAMES words the record holds as many (pfs_walk_place): the innermost, and the
 * outermost, which go round in the places behind them. A stack that could not be walked to its end
 * leaves the frames found so far and the reason; the sample is sent all the same. With
 * PFS_SAMPLE_LATE the walk ended because the kernel's tables lacked something: pfs_late has what
 * the collector needs to go on with it.
 */
#ifndef PFS_EVENTS_H
#define PFS_EVENTS_H

#include <linux/types.h>

#include "runtime_types.h"
#include "unwind_types.h"

/* Per half of the stack: kernel.perf_event_max_stack's default, and so bpf_get_stack's limit. */
#define PFS_MAX_FRAMES 127
#define PFS_COMM_BYTES 16

/*
 * Copies of user stacks, a page at a time: the first that are resident of so many from the stack
 * pointer on.
 */
#define PFS_LATE_CHUNK_BYTES  4096
#define PFS_LATE_SPAN		  64
#define PFS_LATE_CHUNKS		  16
#define PFS_LATE_OTHER_CHUNKS 2

/*
 * Beside the unified hierarchy of control groups old ones may be mounted, each with controllers of
 * its own: containers are found in that of one of these.
 */
enum pfs_controller {
	PFS_CONTROLLER_NONE,
	PFS_CONTROLLER_MEMORY,
	PFS_CONTROLLER_PIDS,
	PFS_CONTROLLER_CPU
};

/* Control groups' names, and of hierarchies and levels as many as are looked for. */
#define PFS_GROUP_NAME_BYTES  256
#define PFS_GROUP_HIERARCHIES 32
#define PFS_GROUP_LEVELS	  64

#define PFS_WALL   "wallclock:wall:nanoseconds:wall:nanoseconds:delta"
#define PFS_FAULTS "page_faults:faults:count:faults:count:delta"

/*
 * What a sample's value counts; the sums of each kind are series of their own, of a profile type
 * and, where that has several kinds, with a label that tells which: X(identifier, profile type,
 * label, its value)
 */
#define PFS_KINDS(X)                                                       \
	X(ON_CPU, "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "", "") \
	X(WAIT_SLEEP, PFS_WALL, "wait", "sleep")                               \
	X(WAIT_UNINTERRUPTIBLE, PFS_WALL, "wait", "uninterruptible")           \
	X(WAIT_IO, PFS_WALL, "wait", "io")                                     \
	X(WAIT_PREEMPTED, PFS_WALL, "wait", "preempted")                       \
	X(FAULT_MINOR, PFS_FAULTS, "fault", "minor")                           \
	X(FAULT_MAJOR, PFS_FAULTS, "fault", "major")                           \
	X(ALLOCATION, "memory:alloc_space:bytes:space:bytes:delta", "", "")

enum pfs_kind {
#define PFS_KIND_ID(identifier, profile_type, label, value) PFS_KIND_##identifier,
	PFS_KINDS(PFS_KIND_ID)
#undef PFS_KIND_ID
	PFS_KIND_COUNT
};

/* How a function is told of the bytes that it allocates: the cookie of a probe. */
enum pfs_call {
	PFS_CALL_FIRST,	  /* malloc(bytes) */
	PFS_CALL_PRODUCT, /* calloc(number, bytes) */
	PFS_CALL_RESIZE,  /* realloc(old, bytes), which without an old one calls malloc */
	PFS_CALL_SECOND,  /* aligned_alloc(alignment, bytes) */
	PFS_CALL_THIRD	  /* posix_memalign(result, alignment, bytes) */
};

/* struct pfs_sample.flags */
#define PFS_SAMPLE_KERNEL_THREAD 0x01 /* no user side by nature */
#define PFS_SAMPLE_NO_IMAGE \
	0x02					   /* exiting, or inside exec: old user side gone, new one not begun */
#define PFS_SAMPLE_LATE	  0x04 /* struct pfs_late follows the frames */
/* a thread of a process that never runs in user mode (io_uring, vhost): no user side */
#define PFS_SAMPLE_WORKER 0x08
#define PFS_SAMPLE_LABELS 0x10 /* struct pfs_labels follows the frames, before … */
#define PFS_SAMPLE_CHAIN  0x20 /* … struct pfs_chain, before struct pfs_late */

struct pfs_sample {
	__u64 time_ns;				/* CLOCK_MONOTONIC */
	__u64 value;				/* that the sample stands for, in the unit of its kind */
	__u64 period;				/* of sampling, in the same unit */
	__u64 cgroup_id;			/* in the unified hierarchy */
	__u64 controller_cgroup_id; /* in that of the chosen controller; 0: none was chosen */
	__u64 start_time_ns;		/* of the process, since boot */
	__u64 exec_id;				/* tells the images apart that one process executes in turn */
	__u64 arg_start;			/* mm->arg_start, which /proc/PID/stat shows too; 0 if none yet */
	__u32 pid;					/* of the process (tgid), as the initial pid namespace sees it */
	__u32 tid;
	__u32 parent_pid;
	__u32 cpu;
	__u16 kernel_count;				   /* frames */
	__u16 user_count;				   /* words found; pfs_walk_kept() of them are in the record */
	__u8 kernel_error;				   /* errno of the walk, 0 where it went well */
	__u8 user_status;				   /* enum pfs_walk_status */
	__u8 flags;						   /* PFS_SAMPLE_* */
	__u8 kind;						   /* enum pfs_kind */
	char comm[PFS_COMM_BYTES];		   /* of the thread */
	char process_comm[PFS_COMM_BYTES]; /* of the thread group's leader */
};

/*
 * What the collector has decided of an exec image: PFS_VERDICT_*. A record that is about another
 * start time or exec count than the sample does not count, and one that was pushed out is told
 * again.
 */
#define PFS_VERDICT_DROP	0x01 /* its ticks are counted and no more */
#define PFS_VERDICT_NO_COPY 0x02 /* nobody could walk a copy of its stack */

/* An exec image that was sampled, or that there is a verdict on; by pid. */
struct pfs_image {
	__u64 start_time_ns;
	__u64 exec_id;
	__u32 samples;
	__u32 verdict;
};

/*
 * Before each sample of a wait that goes on, as pfs_tend_waits writes it. The pfs_late of such a
 * sample has no bytes: chunks are the pages that the collector is to read.
 */
#define PFS_TEND_PAGES 4 /* idle threads are many, and not deep */

struct pfs_tended {
	__u64 mark;	  /* which pfs_confirm_waits writes if the thread has not run since */
	__u64 length; /* bytes of the sample and what follows it */
};

/* Where the walk stopped, and the stack from there on as it was then. */
struct pfs_late {
	struct pfs_walk_state at;
	__u64 address; /* start of the page of at.sp */
	__u64 chunks;  /* bit i: the page i behind it was copied */
	/* the same of the stack that frame pointers lead to, if that is another one */
	__u64 other_address;
	__u64 other_chunks;
	__u64 thread_pointer; /* register that leads to the thread's own variables */
	__u64 length;		  /* of bytes: the pages that were copied, and no room for others */
	__u8 bytes[(PFS_LATE_CHUNKS + PFS_LATE_OTHER_CHUNKS) * PFS_LATE_CHUNK_BYTES];
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_sample) == 120, "the ring buffer record has no hidden padding");
#endif

/* Counters of what is lost: the collector has a loss of each identifier (batch/losses.h). */
#define PFS_LOSS_COUNTERS(X)                                                                  \
	X(RING_FULL, "ring_full", "samples lost because the ring buffer was full")                \
	X(NO_SCRATCH, "no_scratch", "samples lost because the CPU had no scratch left")           \
	X(KERNEL_STACK_FAILED, "kernel_stack_failed", "samples without their kernel stack")       \
	X(WAIT_NO_ROOM, "wait_no_room", "times that there was no memory for a thread")            \
	X(THREAD_LABELS_FAILED, "thread_labels_failed", "threads whose labels could not be read") \
	X(THREAD_LABELS_CUT, "thread_labels_cut", "sets of labels that are not whole")

/*
 * Counters of the programs, one per-CPU array slot each. Every early return bumps one:
 * X(identifier, name, what)
 */
#define PFS_COUNTERS(X)                                                                       \
	X(EVENTS, "events", "timer ticks, waits, page faults and allocations that are kept")      \
	X(WAITS, "waits", "waits that were kept, as samples or lost ones")                        \
	X(FAULTS, "faults", "page faults that were kept, likewise")                               \
	X(CALLS, "calls", "calls of functions that are probed")                                   \
	X(ALLOCATIONS, "allocations", "of them that were kept, likewise")                         \
	X(IDLE, "idle", "ticks that found the CPU idle")                                          \
	X(SELF, "self", "ticks that found the collector, which is left out")                      \
	X(DROPPED, "dropped", "ticks of processes that are not to be sampled")                    \
	X(SAMPLES, "samples", "samples put into the ring buffer")                                 \
	X(LATE, "late", "stacks handed over to be walked in user space")                          \
	X(LATE_SKIPPED, "late_skipped", "stacks that were not, as the ring was filling up")       \
	X(LATE_USELESS, "late_useless", "stacks that were not, as nobody could walk them")        \
	X(CHAINS, "chains", "samples of processes with an interpreter that is known")             \
	X(WAKEUPS, "wakeups", "times the collector was woken ahead of its timer")                 \
	X(TIME_NS, "time_ns", "nanoseconds spent in the program, for samples")                    \
	X(LATE_NS, "late_ns", "of them for samples whose stacks were handed over")                \
	X(LOOK_NS, "look_ns", "nanoseconds spent on switches and births, kept or not; estimated") \
	PFS_LOSS_COUNTERS(X)

enum pfs_counter {
#define PFS_COUNTER_ID(identifier, name, what) PFS_COUNTER_##identifier,
	PFS_COUNTERS(PFS_COUNTER_ID)
#undef PFS_COUNTER_ID
	PFS_COUNTER_COUNT
};

#endif
