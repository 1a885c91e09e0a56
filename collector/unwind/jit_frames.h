/*
 * jit_frames.h
 *		Rules of generated code, from the memory of the process that generated it.
 *
 * CPython's trampolines (trampolines.h) are recognized by their bytes. LLVM's compilers (including
 * PostgreSQL's) write an .eh_frame next to the code, so that exceptions can pass through it. It is
 * found by its first bytes, in the memory around a mapping and in the process's read-only memory
 * without a file, and accepted if its entries cover code of the mapping.
 */
#ifndef COLLECTOR_JIT_FRAMES_H
#define COLLECTOR_JIT_FRAMES_H

#include <stdint.h>

#include "unwind/remote_memory.h"
#include "unwind/unwinder.h"

#define JIT_MAX_MAPPINGS	  16  /* mappings of a process that are searched for CFI */
#define JIT_MAX_ARENAS		  256 /* arenas of trampolines of a process */
#define JIT_MAX_SECTIONS	  16  /* sections next to one mapping */
#define JIT_MAX_PIECES		  64  /* pieces of read-only memory of a process */
#define JIT_SPANS_PER_MAPPING (2 * JIT_MAX_SECTIONS + 1)

/*
 * Read-only memory of a process, at most 1 MiB. Entries and instructions in it are read for a tenth
 * of a second, the rest is left out.
 */
typedef struct JitMemory JitMemory;

/* Returns NULL if out of memory; unreadable memory is left out. The patience must outlive it. */
JitMemory *jit_memory_read(Patience *patience, uint32_t pid);
void jit_memory_free(JitMemory *memory);		   /* accepts NULL */
bool jit_memory_is_stuck(const JitMemory *memory); /* some memory did not answer in time */
uint64_t jit_memory_steps_left(const JitMemory *memory);

/*
 * Limit of the spans of all mappings: one more for each mapping, also those that are not searched.
 */
#define JIT_SPANS(mappings) \
	((mappings) + JIT_SPANS_PER_MAPPING * JIT_MAX_MAPPINGS + 2 * JIT_MAX_ARENAS)

/*
 * Covers the mapping with ascending spans: those with a binary, of which the caller gets a
 * reference, and between them spans that are walked by frame pointer. Returns their number; the
 * total for all mappings of a process is at most JIT_SPANS.
 */
uint32_t jit_frames_spans(Unwinder *unwinder, JitMemory *memory, uint64_t start, uint64_t end,
						  uint64_t now_ns, UnwindSpan *spans);

#endif
