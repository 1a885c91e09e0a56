/*
 * mini_debug.h
 *		Compressed symbols that a binary carries in .gnu_debugdata: those that .dynsym lacks.
 */
#ifndef COLLECTOR_MINI_DEBUG_H
#define COLLECTOR_MINI_DEBUG_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/elf/elf_file.h"

typedef struct MiniDebug
{
	ElfFile file;	/* ELF file in bytes */
	uint8_t *bytes; /* NULL: there are no such symbols */
} MiniDebug;

/*
 * Unpacks the symbols if the index of the xz stream says that they take at most 16 MB and a quarter
 * of the room. Returns false, with an empty *mini, if there are none that can be used.
 */
bool mini_debug_open(const ElfFile *binary, size_t room_bytes, MiniDebug *mini);
void mini_debug_close(MiniDebug *mini); /* accepts an empty one */

#endif
