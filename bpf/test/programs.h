/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * programs.h
 *		The BPF programs in plain memory, for tests: include this, then profiler.bpf.c.
 *
 * It replaces libbpf's headers. Fields of the kernel's structures are read from this process's
 * memory, and helpers are functions that the includer defines.
 */
#ifndef PFS_TEST_PROGRAMS_H
#define PFS_TEST_PROGRAMS_H

#include <string.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__
#define __BPF_TRACING_H__
#define PFS_GROUP_ROOTS_BPF_H /* needs a kernel's control groups; test_group_roots covers it */
#define PFS_GPU_BPF_H		  /* needs a GPU's driver; collector/test/e2e/gpu covers it */
#define PFS_GPU_LIBRARY_BPF_H /* needs a GPU; collector/test/e2e/gpu_kernels covers it */
#define PFS_PROBES_BPF_H	  /* needs a kernel's memory; test_probes covers it */

#define SEC(name)
#define __uint(name, value)	 int(*name)[value]
#define __type(name, value)	 __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[1]
#undef __always_inline
#define __always_inline		  inline __attribute__((always_inline, unused))
#define barrier()			  __asm__ volatile("" ::: "memory")
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

#define bpf_core_field_exists(...)				1
#define bpf_core_enum_value_exists(type, value) 1
#define bpf_core_enum_value(type, value)		value
#define bpf_core_type_size(type)				sizeof(type)
#ifndef __clang__
#define __builtin_preserve_access_index(expression) (expression)
#endif

#define PFS_READ_1(from, a)					(from)->a
#define PFS_READ_2(from, a, b)				(from)->a->b
#define PFS_READ_3(from, a, b, c)			(from)->a->b->c
#define PFS_READ_4(from, a, b, c, d)		(from)->a->b->c->d
#define PFS_READ_N(a, b, c, d, n, ...)		PFS_READ_##n
#define PFS_READ_OF(...)					PFS_READ_N(__VA_ARGS__, 4, 3, 2, 1, 0)
#define BPF_CORE_READ(from, ...)			PFS_READ_OF(__VA_ARGS__)(from, __VA_ARGS__)
#define BPF_CORE_READ_INTO(to, from, field) memcpy(to, &(from)->field, sizeof(*(to)))
#define BPF_CORE_READ_BITFIELD(from, field) (from)->field
#define BPF_PROG(name, ...)					name(void *ctx, __VA_ARGS__)

struct task_struct;
struct vm_area_struct;
struct seq_file;

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
long bpf_probe_read_user(void *to, __u32 size, const void *from);
long bpf_probe_read_kernel(void *to, __u32 size, const void *from);
__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_smp_processor_id(void);
__u32 bpf_get_prandom_u32(void);
__u64 bpf_get_current_pid_tgid(void);
__u64 bpf_get_current_cgroup_id(void);
long bpf_get_current_comm(void *to, __u32 size);
__u64 bpf_get_current_task(void);
struct task_struct *bpf_get_current_task_btf(void);
struct pt_regs;
long bpf_task_pt_regs(struct task_struct *task);
long bpf_get_stack(void *context, void *to, __u32 size, __u64 flags);
long bpf_ringbuf_output(void *ring, void *data, __u64 size, __u64 flags);
__u64 bpf_ringbuf_query(void *ring, __u64 flags);
void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, __u64 flags);
long bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags);
long bpf_find_vma(struct task_struct *task, __u64 address,
				  long (*judge)(struct task_struct *, struct vm_area_struct *, void *),
				  void *context, __u64 flags);
long bpf_seq_write(struct seq_file *file, const void *data, __u32 size);

#endif
