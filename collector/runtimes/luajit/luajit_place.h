/*
 * luajit_place.h
 *		The global state of LuaJIT, and the places in it that differ from build to build.
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
	uint64_t stack_pointer; /* 0: not known */
	uint64_t code_start;	/* half-open */
	uint64_t code_end;
} LuajitThread;

/*
 * Fills the place into the entry. Returns false if there is none: the thread does not run Lua now,
 * or the build's references have 32 bits.
 */
bool luajit_place_find(RemoteMemory *memory, const LuajitThread *thread, struct pfs_runtime *entry);

#endif
