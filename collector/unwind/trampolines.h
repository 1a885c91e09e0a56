/*
 * trampolines.h
 *		CPython's trampolines: machine code of a few bytes that stands for a Python function.
 *
 * Started with -X perf, CPython calls each function's code by way of a trampoline of its own, so
 * that profilers see one frame of machine code for each Python frame. On x86-64 (3.12 and later):
 *
 *		0 sub $8,%rsp    4 call *%rcx    6 add $8,%rsp    10 ret
 *
 * Built with -fcf-protection, as by distributions, each begins with endbr64, 4 bytes before that.
 * They keep no frame pointer and have no CFI. They lie in arenas of 64 KiB without a file that are
 * filled with copies before they may execute, each as far behind the one before: so an arena's
 * rules follow from its shape alone, and all processes share them. Source:
 * Python/asm_trampoline.S and Python/perf_trampoline.c of CPython. Those of arm64 keep frame
 * pointers.
 */
#ifndef COLLECTOR_TRAMPOLINES_H
#define COLLECTOR_TRAMPOLINES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/remote_memory.h"

#define TRAMPOLINE_ARENA_BYTES ((uint64_t) 65536)

typedef struct TrampolineShape
{
	uint32_t period; /* bytes from one trampoline to the next */
	uint32_t lead;	 /* bytes of endbr64 before the code above: 0 or 4 */
} TrampolineShape;

typedef struct TrampolineArena
{
	uint64_t start; /* in the process */
	TrampolineShape shape;
} TrampolineArena;

/*
 * Looks for arenas in executable memory without a file, at the beginning of each page; *looks_left
 * is how many MiB may still be looked at. Returns how many were found, by ascending start.
 */
size_t trampolines_find(RemoteMemory *memory, uint64_t start, uint64_t end, uint32_t *looks_left,
						TrampolineArena *arenas, size_t capacity);

/* The rules of an arena of that shape, by offset in it. 0, -ENOMEM, -ENOSPC: the set is full. */
int trampolines_compile(TrampolineShape shape, RuleSet *rules, UnwindTable *table);

#endif
