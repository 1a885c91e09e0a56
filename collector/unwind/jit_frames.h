/*
 * jit_frames.h
 *		CFI of generated code, found in the memory of the process that generated it.
 *
 * LLVM's compilers (PostgreSQL's among them) put an .eh_frame beside the code, so that exceptions
 * may cross it. It is found by its first bytes, in the memory around a mapping and in what the
 * process has of read-only memory without a file, and believed where its entries cover code of the
 * mapping.
 */
#ifndef COLLECTOR_JIT_FRAMES_H
#define COLLECTOR_JIT_FRAMES_H

#include <stdint.h>

#include "unwind/unwinder.h"

#define JIT_MAX_MAPPINGS	  16 /* of a process; what lies in others is walked by frame pointer */
#define JIT_MAX_SECTIONS	  16 /* beside one mapping */
#define JIT_MAX_PIECES		  64 /* of read-only memory, of a process */
#define JIT_SPANS_PER_MAPPING (2 * JIT_MAX_SECTIONS + 1)

/*
 * Read-only memory of a process, 1 MiB at most. Of what it holds as many entries and instructions
 * are read as a tenth of a second takes, the rest is left out.
 */
typedef struct JitMemory JitMemory;

/* NULL without memory; what cannot be read is left out. */
JitMemory *jit_memory_read(uint32_t pid);
void jit_memory_free(JitMemory *memory); /* accepts NULL */
uint64_t jit_memory_steps_left(const JitMemory *memory);

/*
 * Covers the mapping with spans, JIT_SPANS_PER_MAPPING at most, by ascending start: those with a
 * binary, of which the caller gets a reference, and between them those that are walked by frame
 * pointer. Returns their number.
 */
uint32_t jit_frames_spans(Unwinder *unwinder, JitMemory *memory, uint64_t start, uint64_t end,
						  uint64_t now_ns, UnwindSpan *spans);

#endif
