/*
 * scheduler_code.h
 *		Finds the kernel code through which a thread leaves the CPU. Every stack of a waiting thread
 *		begins with it.
 *
 * The scheduler's own frames do not show why a thread waits; their caller does. The kernel keeps
 * all functions that only wait for others in a section (__sched), which it also omits from
 * /proc/PID/wchan and from stacks of other threads (kernel/stacktrace.c).
 */
#ifndef COLLECTOR_SCHEDULER_CODE_H
#define COLLECTOR_SCHEDULER_CODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct SchedulerCode
{
	uint64_t start;
	uint64_t end; /* end of the section, exclusive; 0: not known */
	/* start of schedule_tail(), where threads begin; it is outside of the section */
	uint64_t tail_start;
	uint64_t tail_end;
} SchedulerCode;

/*
 * Reads /proc/kallsyms or a file of its format. Returns 0, -ENOENT if addresses are hidden or the
 * symbols are missing, or another -errno.
 */
int scheduler_code_read(const char *path, SchedulerCode *code);

/*
 * Returns how many innermost frames of a kernel stack belong to the scheduler or to programs that
 * the end of the scheduler calls. Never returns the number of all frames.
 */
size_t scheduler_code_depth(const SchedulerCode *code, const uint64_t *frames, size_t count);

#endif
