/*
 * luajit_code.h
 *		LuaJIT's prototypes of functions, out of the memory of the process that runs them.
 *
 * A Lua function has no name of its own: it is called by its file and first line.
 */
#ifndef COLLECTOR_LUAJIT_CODE_H
#define COLLECTOR_LUAJIT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"
#include "unwind/remote_memory.h"

/* A table of lines: the lines' number, and the difference of each instruction's to the first. */
typedef struct LuajitLines
{
	uint32_t line_count;
	uint8_t differences[];
} LuajitLines;

/*
 * Reads prototypes, RUNTIME_CODES_MAX at most. Prototypes that have changed since the sample, or
 * are unreadable, have no name. Lines are LuajitLines.
 */
void luajit_codes_read(RemoteMemory *memory, CodeWanted *wanted, size_t count);

/*
 * The line of the instruction before a position; 0 if it is not known. Tables are memory of a
 * process.
 */
int32_t luajit_line(const RuntimeCode *code, uint32_t position);

#endif
