/*
 * hotspot_unloads.h
 *		The number of classes that a virtual machine has unloaded.
 *
 * The memory of a class may get another class after the class was unloaded, which this number
 * reveals. It is one of the counters for jstat (PerfData).
 */
#ifndef COLLECTOR_HOTSPOT_UNLOADS_H
#define COLLECTOR_HOTSPOT_UNLOADS_H

#include <stdint.h>

#include "unwind/remote_memory.h"

/*
 * Returns the address of the number; 0 if the virtual machine has no counters
 * (-XX:-UsePerfData). start: address of the variable that leads to the counters; 0: unknown.
 */
uint64_t hotspot_unloads_find(RemoteMemory *memory, uint64_t start);

/* Returns the number at an address; 0 if the address is 0, UINT64_MAX if it cannot be read. */
uint64_t hotspot_unloads_read(RemoteMemory *memory, uint64_t address);

#endif
