/*
 * luajit_code.h
 *		Reads LuaJIT's prototypes of functions from the memory of the process that runs them.
 *
 * A Lua function has no name, so its file and first line serve as one.
 */
#ifndef COLLECTOR_LUAJIT_CODE_H
#define COLLECTOR_LUAJIT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"
#include "unwind/remote_memory.h"

/*
 * A table of lines: their number, and for each instruction the difference of its line to the first
 * one.
 */
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
 * Returns the line of the instruction before a position; 0 if unknown. Tables come from the process
 * and are not trusted.
 */
int32_t luajit_line(const RuntimeCode *code, uint32_t position);

#endif
