/*
 * stream.h
 *		A stream of Arrow's IPC format: a schema, dictionaries, record batches.
 *
 *   OFFSET  SIZE  of a message
 *   0       4     0xFFFFFFFF
 *   4       4     bytes of metadata, with padding; 0: end of the stream
 *   8       …     metadata: a FlatBuffer with Message of Message.fbs
 *   …       …     body; the metadata has its size
 *
 * A later dictionary replaces the one of its id; deltas are refused. Unpacked data stays until the
 * arena is freed.
 */
#ifndef COLLECTOR_ARROW_STREAM_H
#define COLLECTOR_ARROW_STREAM_H

#include "arrow/array.h"

typedef struct ArrowStream
{
	Span bytes;
	size_t at;
	Arena *arena;
	bool has_schema;
	ArrowSchema schema;
	uint32_t rows; /* number of rows of the record batch */
	ArrowArray *columns;
	bool is_out_of_memory;
	const char *error; /* a literal */
} ArrowStream;

void arrow_stream_open(ArrowStream *stream, Span bytes, Arena *arena);

/*
 * Reads the next record batch. Returns false at the end of the stream, and after a failure, when
 * error or is_out_of_memory is set.
 */
bool arrow_stream_next(ArrowStream *stream);

/* Returns the column with this name; NULL if the record batch has none. */
ArrowArray *arrow_column(const ArrowStream *stream, const char *name);

#endif
