/*
 * replay_world.h
 *		The BPF programs' C code, compiled into a test, over the memory of a live process, whose
 *		reads may fail or return wrong values from a number on.
 *
 * A test includes this file once, instead of the programs' own headers. It defines the programs'
 * maps and helpers.
 */
#ifndef COLLECTOR_TEST_REPLAY_WORLD_H
#define COLLECTOR_TEST_REPLAY_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "programs.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define PFS_OFF_CPU_BPF_H
#define const
#include "profiler.bpf.c"
#undef const

#include "runtimes/runtime_kind.h"

#define REPLAY_READS_MAX 100000 /* limit of the reads of one walk */

/* The part of a machine that the programs see: the memory of one process. */
static struct ReplayWorld
{
	struct pfs_scratch scratch;
	__u64 counters[PFS_COUNTER_COUNT];
	struct task_struct task;
	pfs_registers registers;
	pid_t pid;
	__u64 now_ns;
	__u64 read_ns; /* duration of a read */
	__u64 look_ns; /* duration of a reading of the clock */
	int reads;
	int failing_read; /* number of the first read that fails; 0: none */
	/* number of the first read that returns a wrong value in each word; 0: none */
	int lying_read;
	__u64 lie;
} replay_world;

void *
bpf_map_lookup_elem(void *map, const void *key)
{
	if (map == &pfs_scratches)
		return &replay_world.scratch;
	return map == &pfs_counters ? &replay_world.counters[*(const __u32 *) key] : NULL;
}

long
bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	return 0;
}

long
bpf_probe_read_user(void *to, __u32 size, const void *from)
{
	struct ReplayWorld *world = &replay_world;
	struct iovec local = { to, size };
	struct iovec remote = { (void *) (uintptr_t) from, size };

	assert_true(++world->reads < REPLAY_READS_MAX);
	world->now_ns += world->read_ns;
	if (world->failing_read != 0 && world->reads >= world->failing_read)
		return -EFAULT;
	if (world->lying_read != 0 && world->reads >= world->lying_read)
	{
		for (__u32 i = 0; i + 8 <= size; i += 8)
			memcpy((char *) to + i, &world->lie, 8);
		return 0;
	}
	return process_vm_readv(world->pid, &local, 1, &remote, 1, 0) == (ssize_t) size ? 0 : -EFAULT;
}

long
bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

__u64
bpf_ktime_get_ns(void)
{
	return replay_world.now_ns += replay_world.look_ns;
}

__u32
bpf_get_smp_processor_id(void)
{
	return 0;
}

__u32
bpf_get_prandom_u32(void)
{
	return 0;
}

__u64
bpf_get_current_pid_tgid(void)
{
	return (__u64) replay_world.pid << 32 | (__u64) replay_world.pid;
}

__u64
bpf_get_current_cgroup_id(void)
{
	return 1;
}

long
bpf_get_current_comm(void *to, __u32 size)
{
	memset(to, 0, size);
	return 0;
}

__u64
bpf_get_current_task(void)
{
	return (__u64) (uintptr_t) &replay_world.task;
}

struct task_struct *
bpf_get_current_task_btf(void)
{
	return &replay_world.task;
}

long
bpf_task_pt_regs(struct task_struct *task)
{
	return (long) &replay_world.registers;
}

long
bpf_get_stack(void *context, void *to, __u32 size, __u64 flags)
{
	return 0;
}

long
bpf_ringbuf_output(void *ring, void *data, __u64 size, __u64 flags)
{
	return 0;
}

__u64
bpf_ringbuf_query(void *ring, __u64 flags)
{
	return 0;
}

/* Empties the machine for a walk of a thread of the process. Faults of memory stay as they are. */
static void
replay_world_reset(pid_t pid, __u64 thread_pointer)
{
	struct ReplayWorld *world = &replay_world;
	struct ReplayWorld before = *world;

	memset(world, 0, sizeof(*world));
	world->pid = pid;
	world->failing_read = before.failing_read;
	world->lying_read = before.lying_read;
	world->read_ns = before.read_ns;
	world->look_ns = before.look_ns;
	world->lie = before.lie;
#ifdef PFS_ARM64
	world->task.thread.uw.tp_value = thread_pointer;
#else
	world->task.thread.fsbase = thread_pointer;
#endif
}

/* Returns the words of a chain's section. */
static const uint64_t *
replay_words(const struct pfs_chain *chain)
{
	return (const uint64_t *) (chain + 1) + (chain->end_count + 1) / 2;
}

/*
 * Reads a file that a process has mapped. Returns false if it contains no interpreter, or if the
 * mapping lacks the start of the file's code: V8 maps the middle of that code a second time.
 */
static inline bool
replay_read_file(const char *path, const char *name, uint64_t start, uint64_t offset,
				 RuntimeTarget *target)
{
	ElfSource source = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
	RuntimeFile *file = NULL;
	bool found = false;
	struct stat status;
	ElfHeaders headers;
	Elf64_Phdr segment;

	if (source.fd < 0)
		return false;
	if (fstat(source.fd, &status) == 0)
	{
		source.size_bytes = (uint64_t) status.st_size;
		file = runtime_file_read(&source, name);
	}
	if (file != NULL)
	{
		target->file = *file;
		assert_int_equal(elf_headers_read(&headers, &source), 0);
		for (uint32_t i = 0; i < headers.segment_count; i++)
			if (elf_headers_segment(&headers, i, &segment) && segment.p_type == PT_LOAD &&
				(segment.p_flags & PF_X) != 0 && offset <= segment.p_offset)
			{
				target->bias = start - offset + segment.p_offset - segment.p_vaddr;
				found = true;
			}
	}
	free(file);
	close(source.fd);
	return found;
}

#endif
