/*
 * cpu_list.h
 *		CPU sets as the kernel writes them: "0-3,8,10-11".
 */
#ifndef COLLECTOR_CPU_LIST_H
#define COLLECTOR_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_LIST_MAX 4096 /* CPUs; more than any kernel is configured for on x86-64 and arm64 */

typedef struct CpuList
{
	uint64_t bits[CPU_LIST_MAX / 64];
} CpuList;

/*
 * 0, or -EINVAL where text is no CPU list; *list is then untouched. A newline at the end is
 * allowed.
 */
int cpu_list_parse(const char *text, CpuList *list);

/* Reads a file such as /sys/devices/system/cpu/online. */
int cpu_list_read(const char *path, CpuList *list);

bool cpu_list_has(const CpuList *list, uint32_t cpu);

#endif
