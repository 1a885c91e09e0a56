/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel_types.h
 *		The kernel's structures, reduced to the fields that the programs read.
 *
 * preserve_access_index makes the loader look up each field's offset in the running kernel's BTF
 * (CO-RE), so that neither order nor size matters here, and the build needs no BTF of its own.
 * Names and types are the kernel's.
 */
#ifndef PFS_KERNEL_TYPES_H
#define PFS_KERNEL_TYPES_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct kernfs_node {
	__u64 id; /* inode number of the directory */
	const char *name;
};

struct cgroup_root {
	int hierarchy_id; /* number of the hierarchy, as in /proc/PID/cgroup */
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

/* Links a set to one of its control groups, of which it has one in each hierarchy. */
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* by controller; in fact more than one */
	struct cgroup *dfl_cgrp;			   /* in the unified hierarchy */
	struct list_head cgrp_links;		   /* list of cgrp_cset_link */
};

struct cgroup_namespace {
	struct css_set *root_cset;
};

struct nsproxy {
	struct cgroup_namespace *cgroup_ns;
};

/* Values differ between kernels; CO-RE uses the names only. */
enum cgroup_subsys_id {
	cpu_cgrp_id,
	memory_cgrp_id,
	pids_cgrp_id,
};

/* Since 6.4, such arguments create threads that work for a process, which have PF_USER_WORKER. */
struct kernel_clone_args {
	__u32 user_worker : 1;
};

/* The page in which probed code runs; it begins with the trampoline of traced returns. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long start_code;  /* 0 until an image is in place that can be run */
	unsigned long start_stack; /* where the first thread's stack began */
	unsigned long arg_start;   /* start of the arguments, near the stack's randomized top */
};

/* Contains the address of thread-local variables. */
struct thread_struct {
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
	struct {
		unsigned long tp_value;
	} uw;
#else
	unsigned long fsbase;
#endif
};

/* A call whose return is traced: the trampoline's address replaces the return address. */
struct return_instance {
	unsigned long stack; /* stack pointer at the function's entry */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* return probe of the next outer traced call */
};

/* A task in probed code. */
struct uprobe_task {
	struct return_instance *return_instances; /* innermost first */
	unsigned long vaddr;					  /* address of the probed instruction */
	/* address of its copy, which is executed instead; 0 before the first one */
	unsigned long xol_vaddr;
};

struct sched_entity {
	__u64 sum_exec_runtime; /* ns on a CPU, until the last switch or tick */
};

struct task_struct {
	unsigned int flags; /* PF_* */
	int pid;
	int tgid;
	void *stack;		  /* lowest address of the kernel stack */
	struct mm_struct *mm; /* NULL for kernel threads and in the last part of exit */
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	__u64 start_boottime; /* ns since boot including suspend; /proc/PID/stat shows it in ticks */
	__u64 self_exec_id;	  /* incremented by each exec, copied by fork */
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
	char comm[16];
	struct thread_struct thread;
	struct sched_entity se;
	struct uprobe_task *utask; /* NULL before its first probe */
	unsigned int __state;	   /* 0: runnable; the field has this name since 5.14 */
	int on_cpu;
	unsigned long nvcsw; /* voluntary and involuntary switches */
	unsigned long nivcsw;
	unsigned int sched_contributes_to_load : 1; /* the last sleep was uninterruptible */
	unsigned int in_iowait : 1;
};

/*
 * The registers that the kernel saves on entry from user mode. On arm64 they begin with
 * user_pt_regs and have more fields.
 */
struct pt_regs___saved {
	__u64 sp;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct userfaultfd_ctx;

struct vm_userfaultfd_ctx {
	struct userfaultfd_ctx *ctx; /* NULL: the kernel itself fills the pages */
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct file *vm_file; /* NULL: anonymous memory */
	struct vm_userfaultfd_ctx vm_userfaultfd_ctx;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq; /* the program's output, for the reader of the iterator */
};

/* Context of a program that iterates over all tasks. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL at the end */
};

#pragma clang attribute pop

/* TASK_NEW: between birth and the first wake-up */
#define PFS_TASK_NEW 0x00000800

/* PF_KTHREAD, PF_IO_WORKER, PF_USER_WORKER of include/linux/sched.h */
#define PFS_PF_KTHREAD	   0x00200000
#define PFS_PF_IO_WORKER   0x00000010
#define PFS_PF_USER_WORKER 0x00004000 /* before 6.4 the bit has another meaning */

#endif
