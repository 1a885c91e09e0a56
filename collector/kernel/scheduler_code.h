/*
 * scheduler_code.h
 *		Where the kernel's own way off a CPU lies, which all stacks of waiting threads begin with.
 *
 * It says nothing about a wait: its caller does. The kernel keeps all functions that only wait for
 * others in a section (__sched), which it leaves out of /proc/PID/wchan, and out of stacks of other
 * threads, too (kernel/stacktrace.c).
 */
#ifndef COLLECTOR_SCHEDULER_CODE_H
#define COLLECTOR_SCHEDULER_CODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct SchedulerCode
{
	uint64_t start;
	uint64_t end;		 /* exclusive; 0: not known */
	uint64_t tail_start; /* schedule_tail, where threads begin: it lies elsewhere */
	uint64_t tail_end;
} SchedulerCode;

/*
 * From /proc/kallsyms, or a file of its format. 0, -ENOENT where addresses are hidden or there are
 * no such symbols, or another -errno.
 */
int scheduler_code_read(const char *path, SchedulerCode *code);

/*
 * How many of a kernel stack's frames, innermost first, are the scheduler and what its end has
 * called: programs that look at it. Never all of them.
 */
size_t scheduler_code_depth(const SchedulerCode *code, const uint64_t *frames, size_t count);

#endif
