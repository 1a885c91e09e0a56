/*
 * scheduler_code.h
 *		Finds the kernel code through which a thread leaves the CPU. All stacks of waiting
 *		threads begin with it.
 *
 * This code says nothing about a wait, but its caller does. The kernel keeps all functions that
 * only wait for others in a section (__sched), which it also omits from /proc/PID/wchan and from
 * stacks of other threads (kernel/stacktrace.c).
 */
#ifndef COLLECTOR_SCHEDULER_CODE_H
#define COLLECTOR_SCHEDULER_CODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct SchedulerCode
{
	uint64_t start;
	uint64_t end;		 /* exclusive; 0: unknown */
	uint64_t tail_start; /* schedule_tail, where threads begin; it is outside the section */
	uint64_t tail_end;
} SchedulerCode;

/*
 * Reads /proc/kallsyms or a file of its format. Returns 0, -ENOENT if addresses are hidden or the
 * symbols are missing, or another -errno.
 */
int scheduler_code_read(const char *path, SchedulerCode *code);

/*
 * Returns how many of a kernel stack's innermost frames are the scheduler's or those of programs
 * that its end calls. Never all frames.
 */
size_t scheduler_code_depth(const SchedulerCode *code, const uint64_t *frames, size_t count);

#endif
