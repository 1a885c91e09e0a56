/*
 * trampolines.h
 *		CPython's trampolines: machine code of a few bytes that represents a Python function.
 *
 * CPython with -X perf calls each function's code through a trampoline of its own, so that
 * profilers see one frame of machine code for each Python frame. On x86-64 (3.12 and later):
 *
 *   0 sub $8,%rsp    4 call *%rcx    6 add $8,%rsp    10 ret
 *
 * Distributions build with -fcf-protection, with which each begins with endbr64, 4 bytes before
 * that. They have no frame pointer and no CFI. They are in arenas of 64 KiB without a file, which
 * are filled with copies at a constant distance before they become executable: so the shape of an
 * arena determines its rules, and all processes share them. Source: Python/asm_trampoline.S and
 * Python/perf_trampoline.c of CPython. Those of arm64 have frame pointers.
 */
#ifndef COLLECTOR_TRAMPOLINES_H
#define COLLECTOR_TRAMPOLINES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/cfi.h"
#include "unwind/remote_memory.h"

#define TRAMPOLINE_ARENA_BYTES ((uint64_t) 65536)

typedef struct TrampolineShape
{
	uint32_t period; /* bytes from one trampoline to the next */
	uint32_t lead;	 /* bytes of endbr64 before the code above: 0 or 4 */
} TrampolineShape;

typedef struct TrampolineArena
{
	uint64_t start; /* address in the process */
	TrampolineShape shape;
} TrampolineArena;

/*
 * Searches executable memory without a file for arenas, at the start of each page. *looks_left is
 * the number of MiB that may still be searched. Returns the number of arenas, which are sorted by
 * start.
 */
size_t trampolines_find(RemoteMemory *memory, uint64_t start, uint64_t end, uint32_t *looks_left,
						TrampolineArena *arenas, size_t capacity);

/*
 * Makes the rules of an arena with this shape, by offset in the arena. Returns 0, -ENOMEM, or
 * -ENOSPC if the rule set is full.
 */
int trampolines_compile(TrampolineShape shape, RuleSet *rules, UnwindTable *table);

#endif
