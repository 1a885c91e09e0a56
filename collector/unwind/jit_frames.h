/*
 * jit_frames.h
 *		Makes unwind rules of generated code from the memory of the process that generated it.
 *
 * CPython's trampolines (trampolines.h) are recognized by their bytes. LLVM's compilers (including
 * PostgreSQL's) write an .eh_frame near the code, so that exceptions can pass through the code. Its
 * first bytes are searched for in the memory around a mapping and in the process's read-only memory
 * without a file. The section is accepted if its entries describe code of the mapping.
 */
#ifndef COLLECTOR_JIT_FRAMES_H
#define COLLECTOR_JIT_FRAMES_H

#include <stdint.h>

#include "unwind/remote_memory.h"
#include "unwind/unwinder.h"

#define JIT_MAX_MAPPINGS	  16  /* limit of the mappings of a process that are searched for CFI */
#define JIT_MAX_ARENAS		  256 /* limit of the arenas of trampolines in a process */
#define JIT_MAX_SECTIONS	  16  /* limit of the sections for one mapping */
#define JIT_MAX_PIECES		  64  /* limit of the pieces of read-only memory of a process */
#define JIT_SPANS_PER_MAPPING (2 * JIT_MAX_SECTIONS + 1)

/*
 * Read-only memory of a process, at most 1 MiB. Its entries and instructions are read for at most a
 * tenth of a second; the rest is ignored.
 */
typedef struct JitMemory JitMemory;

/*
 * Reads the memory of an owner's process. Unreadable memory is left out. Returns NULL if out of
 * memory. The patience must outlive the result.
 */
JitMemory *jit_memory_read(Patience *patience, uint32_t pid, uint64_t owner);
void jit_memory_free(JitMemory *memory);		   /* accepts NULL */
bool jit_memory_is_stuck(const JitMemory *memory); /* some memory did not answer in time */
uint64_t jit_memory_steps_left(const JitMemory *memory);
/* Returns the CPU time that reading the memory took in other threads. */
uint64_t jit_memory_spent_ns(const JitMemory *memory);

/*
 * Limit of the spans of all mappings. Each mapping has at least one span, even if it is not
 * searched.
 */
#define JIT_SPANS(mappings) \
	((mappings) + JIT_SPANS_PER_MAPPING * JIT_MAX_MAPPINGS + 2 * JIT_MAX_ARENAS)

/*
 * Covers the mapping with ascending spans. Spans with a binary give the caller a reference to it;
 * the spans between them are walked by frame pointer. Returns the number of spans, which for all
 * mappings of a process together is at most JIT_SPANS.
 */
uint32_t jit_frames_spans(Unwinder *unwinder, JitMemory *memory, uint64_t start, uint64_t end,
						  uint64_t now_ns, UnwindSpan *spans);

#endif
