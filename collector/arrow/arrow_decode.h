/*
 * arrow_decode.h
 *		Converts Parca's Arrow records to a batch.
 *
 * Records of the second version contain the stacks of samples. Those of the first version contain
 * ids of stacks, and the stacks come in a second stream, on request. A request is decoded as a
 * whole or not at all: after a result other than DECODE_OK the batch's content must be dropped. For
 * any bytes, time is bounded by the request's size, and memory other than the batch's by
 * ARROW_MEMORY_BYTES.
 */
#ifndef COLLECTOR_ARROW_DECODE_H
#define COLLECTOR_ARROW_DECODE_H

#include "arrow/request.h"

#define ARROW_MEMORY_BYTES ((size_t) 192 * 1024 * 1024)

DecodeEnd arrow_decode(const ArrowRequest *request, Batch *batch, ArrowResult *result);

/*
 * Returns the ids of the stacks that samples have, each once, as a stream with the column
 * stacktrace_id, which the caller frees; NULL if each sample contains its stack.
 */
DecodeEnd arrow_wanted_stacks(Span samples, MemoryShare *memory, uint8_t **stream, size_t *length,
							  ArrowResult *result);

#endif
