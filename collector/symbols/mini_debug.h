/*
 * mini_debug.h
 *		Symbols that a binary carries compressed (.gnu_debugdata): those that .dynsym lacks.
 */
#ifndef COLLECTOR_MINI_DEBUG_H
#define COLLECTOR_MINI_DEBUG_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/elf_file.h"

typedef struct MiniDebug
{
	ElfFile file;	/* of the bytes */
	uint8_t *bytes; /* NULL where there are none */
} MiniDebug;

/*
 * Unpacks them if their index says that they are no more than 16 MB and a fourth of the room. False
 * if there are none that can be used: *mini is then empty.
 */
bool mini_debug_open(const ElfFile *binary, size_t room_bytes, MiniDebug *mini);
void mini_debug_close(MiniDebug *mini); /* also an empty one */

#endif
