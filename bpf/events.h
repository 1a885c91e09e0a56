/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * events.h
 *		The records that the BPF programs pass to the collector. Its parts thread_labels.h,
 *		runtime_types.h and unwind_types.h are shared as well.
 *
 * One ring buffer record is a struct pfs_sample followed by its stack, leaf first:
 *
 *   | pfs_sample, 120 bytes | kernel_count × u64 | user words × u64 | pfs_labels | pfs_chain |
 *   | pfs_late |
 *
 * Addresses are absolute, in the kernel's and the process's address space. Those of user frames
 * carry PFS_FRAME_* bits, and a frame of interpreted code consists of several words. If a user
 * stack has more than PFS_MAX_USER_FRAMES words, the record contains that many (pfs_walk_place):
 * the innermost words, and the outermost ones, which reuse the places after them in turn. A stack
 * that could not be walked to its end contains the frames found so far and the reason, and the
 * sample is sent anyway. PFS_SAMPLE_LATE means that the walk ended because the kernel's tables
 * lacked an entry: pfs_late contains what the collector needs to continue it.
 */
#ifndef PFS_EVENTS_H
#define PFS_EVENTS_H

#include <linux/types.h>

#include "runtime_types.h"
#include "unwind_types.h"

/*
 * Limit of each half of the stack: the default of kernel.perf_event_max_stack, and so the limit of
 * bpf_get_stack().
 */
#define PFS_MAX_FRAMES 127
#define PFS_COMM_BYTES 16

/*
 * Copies of user stacks, by pages: the first resident pages among PFS_LATE_SPAN from the stack
 * pointer on.
 */
#define PFS_LATE_CHUNK_BYTES  4096
#define PFS_LATE_SPAN		  64
#define PFS_LATE_CHUNKS		  16
#define PFS_LATE_OTHER_CHUNKS 2

/*
 * Beside the unified hierarchy of control groups, version 1 hierarchies may be mounted, each with
 * its own controllers. Containers are found in the hierarchy of the chosen controller.
 */
enum pfs_controller {
	PFS_CONTROLLER_NONE,
	PFS_CONTROLLER_MEMORY,
	PFS_CONTROLLER_PIDS,
	PFS_CONTROLLER_CPU
};

/* Limits of the names of control groups, and of the hierarchies and levels that are searched. */
#define PFS_GROUP_NAME_BYTES  256
#define PFS_GROUP_HIERARCHIES 32
#define PFS_GROUP_LEVELS	  64

#define PFS_WALL   "wallclock:wall:nanoseconds:wall:nanoseconds:delta"
#define PFS_FAULTS "page_faults:faults:count:faults:count:delta"

/*
 * Meaning of a sample's value. The sums of each kind are a separate series with its own profile
 * type and, if several kinds share the type, with a label that names the kind: X(identifier,
 * profile type, label, its value). Amounts of the kinds whose names begin with GPU_ come from the
 * collector, not from BPF programs.
 */
#define PFS_KINDS(X)                                                                \
	X(ON_CPU, "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "", "")          \
	X(WAIT_SLEEP, PFS_WALL, "wait", "sleep")                                        \
	X(WAIT_UNINTERRUPTIBLE, PFS_WALL, "wait", "uninterruptible")                    \
	X(WAIT_IO, PFS_WALL, "wait", "io")                                              \
	X(WAIT_PREEMPTED, PFS_WALL, "wait", "preempted")                                \
	X(FAULT_MINOR, PFS_FAULTS, "fault", "minor")                                    \
	X(FAULT_MAJOR, PFS_FAULTS, "fault", "major")                                    \
	X(ALLOCATION, "memory:alloc_space:bytes:space:bytes:delta", "", "")             \
	X(GPU_LAUNCH, "gpu:launches:count:launches:count:delta", "", "")                \
	X(GPU_ACTIVE, "gpu:active:nanoseconds:gpu:nanoseconds:delta", "", "")           \
	X(GPU_ENERGY, "gpu:energy:millijoules:energy:millijoules:delta", "", "")        \
	X(GPU_MEMORY, "gpu:memory:bytes:space:bytes", "", "")                           \
	X(GPU_KERNEL_TIME, "gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta", "", "") \
	X(GPU_COPY_TIME, "gpu:copy_time:nanoseconds:copy:nanoseconds:delta", "", "")    \
	X(GPU_COPY_BYTES, "gpu:copy:bytes:copy:bytes:delta", "", "")

enum pfs_kind {
#define PFS_KIND_ID(identifier, profile_type, label, value) PFS_KIND_##identifier,
	PFS_KINDS(PFS_KIND_ID)
#undef PFS_KIND_ID
	PFS_KIND_COUNT
};

/*
 * Kinds of records that are no samples. GPU_KEPT is followed by a stack as a sample is: its value
 * is the correlation of a launch that a program's library has kept, its period one of how many
 * launches were kept. GPU_ROWS is followed by value struct pfs_gpu_row (gpu_rows.h); its period is
 * the cookie of the library.
 */
#define PFS_RECORD_GPU_KEPT 0xF0
#define PFS_RECORD_GPU_ROWS 0xF1

/* Limit of the launches that a program's library keeps in a second. It keeps 512 in a window. */
#define PFS_GPU_KEPT_LIMIT 1500

/* Flag in the cookie of the library's function for kept launches. */
#define PFS_GPU_KEEPS (1ULL << 63)

/* Number of libraries of GPUs' drivers that are probed at a time; and of our own in programs. */
#define PFS_LAUNCH_LIBRARIES 64

/* How a probed function receives the number of bytes to allocate; the cookie of a probe. */
enum pfs_call {
	PFS_CALL_FIRST,	  /* malloc(bytes) */
	PFS_CALL_PRODUCT, /* calloc(number, bytes) */
	PFS_CALL_RESIZE,  /* realloc(old, bytes), which calls malloc if old is NULL */
	PFS_CALL_SECOND,  /* aligned_alloc(alignment, bytes) */
	PFS_CALL_THIRD	  /* posix_memalign(result, alignment, bytes) */
};

/* Values of struct pfs_sample.flags. */
#define PFS_SAMPLE_KERNEL_THREAD 0x01 /* never has a user side */
/* exiting, or inside exec: the old user side is gone, the new one has not begun */
#define PFS_SAMPLE_NO_IMAGE		 0x02
#define PFS_SAMPLE_LATE			 0x04 /* struct pfs_late is the last part */
/* thread of a process that never runs in user mode (io_uring, vhost): no user side */
#define PFS_SAMPLE_WORKER		 0x08
#define PFS_SAMPLE_LABELS		 0x10 /* struct pfs_labels follows the frames */
#define PFS_SAMPLE_CHAIN		 0x20 /* struct pfs_chain follows the labels */

struct pfs_sample {
	__u64 time_ns;	 /* CLOCK_MONOTONIC */
	__u64 value;	 /* value that the sample represents, in the unit of its kind */
	__u64 period;	 /* sampling period, in the unit of value */
	__u64 cgroup_id; /* id in the unified hierarchy */
	/* id in the hierarchy of the chosen controller; 0: none was chosen */
	__u64 controller_cgroup_id;
	__u64 start_time_ns; /* start of the process, since boot */
	__u64 exec_id;		 /* distinguishes the images that one process executes one after another */
	__u64 arg_start;	 /* mm->arg_start, also in /proc/PID/stat; 0: not set yet */
	__u32 pid;			 /* process (tgid) in the initial pid namespace */
	__u32 tid;
	__u32 parent_pid;
	__u32 cpu;
	__u16 kernel_count; /* number of frames */
	/* number of words found; pfs_walk_kept() of them are in the record */
	__u16 user_count;
	__u8 kernel_error;				   /* errno of the walk, 0 on success */
	__u8 user_status;				   /* enum pfs_walk_status */
	__u8 flags;						   /* PFS_SAMPLE_* */
	__u8 kind;						   /* enum pfs_kind */
	char comm[PFS_COMM_BYTES];		   /* name of the thread */
	char process_comm[PFS_COMM_BYTES]; /* name of the thread group's leader */
};

/*
 * PFS_VERDICT_*: the collector's decision on an exec image. A verdict for another start time or
 * exec count than the sample's is ignored, and a verdict that was evicted is set again.
 */
#define PFS_VERDICT_DROP	0x01 /* only count its ticks */
#define PFS_VERDICT_NO_COPY 0x02 /* do not copy its stacks, because they could not be walked */

/* An exec image that was sampled or has a verdict; by pid. */
struct pfs_image {
	__u64 start_time_ns;
	__u64 exec_id;
	__u32 samples;
	__u32 verdict;
};

/*
 * Precedes each sample of an ongoing wait that pfs_tend_waits writes. The pfs_late of such a sample
 * has no bytes: its chunks are the pages that the collector must read.
 */
#define PFS_TEND_PAGES 4 /* few, because idle threads are many and their stacks are shallow */

struct pfs_tended {
	__u64 mark;	  /* pfs_confirm_waits writes it if the thread has not run since */
	__u64 length; /* length in bytes of the sample and its parts */
};

#define PFS_UNLOADED_UNKNOWN (~0ULL)

/* The place where the walk stopped, and the stack from there on as it was at that moment. */
struct pfs_late {
	struct pfs_walk_state at;
	__u64 address; /* start of the page that contains at.sp */
	__u64 chunks;  /* bit i: page i from address on was copied */
	/* like address, but for the stack to which frame pointers lead, if that is another one */
	__u64 other_address;
	__u64 other_chunks;
	__u64 thread_pointer; /* register that leads to thread-local variables */
	/* number of classes that HotSpot had unloaded; PFS_UNLOADED_UNKNOWN: it was not read */
	__u64 unloaded;
	__u64 length; /* number of bytes, which contain only the copied pages */
	__u8 bytes[(PFS_LATE_CHUNKS + PFS_LATE_OTHER_CHUNKS) * PFS_LATE_CHUNK_BYTES];
};

#ifndef __bpf__
_Static_assert(sizeof(struct pfs_sample) == 120, "the ring buffer record has no hidden padding");
#endif

/* Counters of losses. The collector has a loss with each of these identifiers (batch/losses.h). */
#define PFS_LOSS_COUNTERS(X)                                                                  \
	X(RING_FULL, "ring_full", "samples lost because the ring buffer was full")                \
	X(NO_SCRATCH, "no_scratch", "samples lost because the CPU had no free scratch")           \
	X(KERNEL_STACK_FAILED, "kernel_stack_failed", "samples without their kernel stack")       \
	X(WAIT_NO_ROOM, "wait_no_room", "times that no memory was available for a thread")        \
	X(THREAD_LABELS_FAILED, "thread_labels_failed", "threads whose labels could not be read") \
	X(THREAD_LABELS_CUT, "thread_labels_cut", "incomplete sets of labels")                    \
	X(GPU_FULL, "gpu_full", "kept launches and rows of GPU libraries for which there was no room")

/*
 * Counters of the programs, each a slot of a per-CPU array. Every early return increments one:
 * X(identifier, name, description)
 */
#define PFS_COUNTERS(X)                                                                            \
	X(EVENTS, "events", "timer ticks, waits, page faults, allocations and launches that are kept") \
	X(WAITS, "waits", "waits that were kept, as samples or lost ones")                             \
	X(FAULTS, "faults", "page faults that were kept, as samples or lost ones")                     \
	X(CALLS, "calls", "calls of probed functions")                                                 \
	X(ALLOCATIONS, "allocations",                                                                  \
	  "calls of probed functions that were kept, as samples or lost ones")                         \
	X(LAUNCH_CALLS, "launch_calls", "calls that launch work of a GPU")                             \
	X(LAUNCHES, "launches", "launches of a GPU that were kept, as samples or lost ones")           \
	X(GPU_KEPT, "gpu_kept", "launches that GPU libraries in programs have kept")                   \
	X(GPU_ROWS, "gpu_rows", "batches of rows of GPU libraries in programs")                        \
	X(IDLE, "idle", "ticks that found the CPU idle")                                               \
	X(SELF, "self", "ticks in the collector itself, which is excluded")                            \
	X(DROPPED, "dropped", "ticks in processes that must not be sampled")                           \
	X(SAMPLES, "samples", "samples put into the ring buffer")                                      \
	X(LATE, "late", "stacks handed over to be walked in user space")                               \
	X(LATE_SKIPPED, "late_skipped", "stacks not handed over because the ring was filling up")      \
	X(LATE_USELESS, "late_useless", "stacks not handed over because they could not be walked")     \
	X(CHAINS, "chains", "samples of processes with a known interpreter")                           \
	X(WAKEUPS, "wakeups", "times that the collector was woken before its timer")                   \
	X(TIME_NS, "time_ns", "nanoseconds spent in the program for samples")                          \
	X(LATE_NS, "late_ns",                                                                          \
	  "nanoseconds spent in the program for samples whose stacks were handed over")                \
	X(LOOK_NS, "look_ns",                                                                          \
	  "nanoseconds spent on switches and thread births, kept or not; estimated")                   \
	PFS_LOSS_COUNTERS(X)

enum pfs_counter {
#define PFS_COUNTER_ID(identifier, name, what) PFS_COUNTER_##identifier,
	PFS_COUNTERS(PFS_COUNTER_ID)
#undef PFS_COUNTER_ID
	PFS_COUNTER_COUNT
};

#endif
