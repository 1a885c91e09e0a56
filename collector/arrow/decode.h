/*
 * decode.h
 *		Parca's Arrow records into a batch.
 *
 * Samples of the second version have their stacks in them. Those of the first have ids, and the
 * stacks come in a stream of their own, on demand. A request is taken whole or not at all: what is
 * in the batch after another end than DECODE_OK is of no use. Bounded in time by the request's
 * size, in memory by ARROW_MEMORY_BYTES beside the batch, whatever the bytes are.
 */
#ifndef COLLECTOR_ARROW_DECODE_H
#define COLLECTOR_ARROW_DECODE_H

#include "arrow/request.h"

#define ARROW_MEMORY_BYTES ((size_t) 192 * 1024 * 1024)

DecodeEnd arrow_decode(const ArrowRequest *request, Batch *batch, ArrowResult *result);

/*
 * Ids of the stacks that samples have, each once, as a stream of the column stacktrace_id, which
 * the caller frees; NULL if each sample contains its stack.
 */
DecodeEnd arrow_wanted_stacks(Span samples, MemoryShare *memory, uint8_t **stream, size_t *length,
							  ArrowResult *result);

#endif
