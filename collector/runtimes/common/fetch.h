/*
 * fetch.h
 *		Reads of several places in a process's memory, done by one call.
 */
#ifndef COLLECTOR_FETCH_H
#define COLLECTOR_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"
#include "unwind/remote_memory.h"

#define FETCH_MAX (8 * RUNTIME_CODES_MAX)

typedef struct Fetch
{
	RemoteMemory *memory;
	size_t count;
	RemoteRange ranges[FETCH_MAX];
	void *targets[FETCH_MAX];
} Fetch;

/*
 * Adds a read; at most FETCH_MAX are possible. The target is zeroed, and remains zero if the memory
 * is unreadable or the address is 0.
 */
void fetch_add(Fetch *fetch, uint64_t address, void *target, size_t bytes);

/* Runs all reads that were added since the last call. */
void fetch_run(Fetch *fetch);

#endif
