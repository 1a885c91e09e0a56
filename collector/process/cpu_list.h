/*
 * cpu_list.h
 *		Sets of CPUs in the kernel's notation: "0-3,8,10-11".
 */
#ifndef COLLECTOR_CPU_LIST_H
#define COLLECTOR_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_LIST_MAX 4096 /* number of CPUs; more than any kernel supports on x86-64 and arm64 */

typedef struct CpuList
{
	uint64_t bits[CPU_LIST_MAX / 64];
} CpuList;

/*
 * Parses a CPU list, with or without a newline at its end. Returns 0, or -EINVAL with *list
 * unchanged.
 */
int cpu_list_parse(const char *text, CpuList *list);

/* Reads a file such as /sys/devices/system/cpu/online. Returns 0 or -errno. */
int cpu_list_read(const char *path, CpuList *list);

bool cpu_list_has(const CpuList *list, uint32_t cpu);

#endif
