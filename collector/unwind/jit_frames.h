/*
 * jit_frames.h
 *		Rules of generated code, found in the memory of the process that generated it.
 *
 * CPython's trampolines (trampolines.h) are known by their bytes.
 * LLVM's compilers (PostgreSQL's among them) put an .eh_frame beside the code, so that exceptions
 * may cross it. It is found by its first bytes, in the memory around a mapping and in what the
 * process has of read-only memory without a file, and believed where its entries cover code of the
 * mapping.
 */
#ifndef COLLECTOR_JIT_FRAMES_H
#define COLLECTOR_JIT_FRAMES_H

#include <stdint.h>

#include "unwind/remote_memory.h"
#include "unwind/unwinder.h"

#define JIT_MAX_MAPPINGS	  16  /* of a process, that are searched for CFI */
#define JIT_MAX_ARENAS		  256 /* of trampolines, of a process */
#define JIT_MAX_SECTIONS	  16  /* beside one mapping */
#define JIT_MAX_PIECES		  64  /* of read-only memory, of a process */
#define JIT_SPANS_PER_MAPPING (2 * JIT_MAX_SECTIONS + 1)

/*
 * Read-only memory of a process, 1 MiB at most. Of what it holds as many entries and instructions
 * are read as a tenth of a second takes, the rest is left out.
 */
typedef struct JitMemory JitMemory;

/* NULL without memory; what cannot be read is left out. The patience outlives it. */
JitMemory *jit_memory_read(Patience *patience, uint32_t pid);
void jit_memory_free(JitMemory *memory);		   /* accepts NULL */
bool jit_memory_is_stuck(const JitMemory *memory); /* some of it did not answer in time */
uint64_t jit_memory_steps_left(const JitMemory *memory);

/* For all mappings together; one more for each that is not searched, whose code has neither. */
#define JIT_SPANS(mappings) \
	((mappings) + JIT_SPANS_PER_MAPPING * JIT_MAX_MAPPINGS + 2 * JIT_MAX_ARENAS)

/*
 * Covers the mapping with spans by ascending start: those with a binary, of which the caller gets a
 * reference, and between them those that are walked by frame pointer. Returns their number: of all
 * mappings of a process no more than JIT_SPANS.
 */
uint32_t jit_frames_spans(Unwinder *unwinder, JitMemory *memory, uint64_t start, uint64_t end,
						  uint64_t now_ns, UnwindSpan *spans);

#endif
