/*
 * loop_code.h
 *		Code of an interpreter's loop.
 */
#ifndef COLLECTOR_LOOP_CODE_H
#define COLLECTOR_LOOP_CODE_H

#include <stdint.h>

/* Half-open; by ELF virtual address in a file, else by address in a process. */
typedef struct LoopCode
{
	uint64_t start;
	uint64_t end;
} LoopCode;

#endif
