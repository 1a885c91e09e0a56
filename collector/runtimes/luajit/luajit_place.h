/*
 * luajit_place.h
 *		Finds the global state of LuaJIT, and its offsets that differ from build to build.
 */
#ifndef COLLECTOR_LUAJIT_PLACE_H
#define COLLECTOR_LUAJIT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime_types.h"
#include "unwind/remote_memory.h"

/* Data of a sampled thread, and of the library's code in its process. */
typedef struct LuajitThread
{
	uint64_t thread_pointer;
	uint64_t stack_pointer; /* 0: unknown */
	uint64_t code_start;	/* half-open */
	uint64_t code_end;
} LuajitThread;

/*
 * Fills the offsets into the entry. Returns false if there are none: the thread does not run Lua at
 * this moment, or the build's references have 32 bits.
 */
bool luajit_place_find(RemoteMemory *memory, const LuajitThread *thread, struct pfs_runtime *entry);

#endif
