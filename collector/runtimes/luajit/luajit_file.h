/*
 * luajit_file.h
 *		Recognizes files that contain LuaJIT 2.1.
 *
 * All builds export luaJIT_setmode, which no other Lua has. The file provides no further facts:
 * offsets in LuaJIT's structures are found in the process.
 */
#ifndef COLLECTOR_LUAJIT_FILE_H
#define COLLECTOR_LUAJIT_FILE_H

#include <stdbool.h>

#include "files/elf_headers.h"

typedef struct LuajitFile
{
	uint64_t code_start; /* ELF virtual addresses, half-open */
	uint64_t code_end;
} LuajitFile;

/* Returns false if the file does not contain LuaJIT. */
bool luajit_file_read(const ElfSource *source, LuajitFile *luajit);

#endif
