/*
 * stream.h
 *		A stream of Arrow's IPC format: a schema, dictionaries, record batches.
 *
 *		OFFSET	SIZE	of a message
 *		0		4		0xFFFFFFFF
 *		4		4		bytes of metadata, padding included; 0: the end
 *		8		…		metadata: a FlatBuffer, Message of Message.fbs
 *		…		…		body, as long as the metadata say
 *
 * A later dictionary replaces the one of the same id; deltas are refused. All that was unpacked
 * stays until the arena goes.
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
	uint32_t rows; /* of the record batch */
	ArrowArray *columns;
	bool is_out_of_memory;
	const char *error; /* static text */
} ArrowStream;

void arrow_stream_open(ArrowStream *stream, Span bytes, Arena *arena);

/* The next record batch. False at the end, and where error or is_out_of_memory say so. */
bool arrow_stream_next(ArrowStream *stream);

/* A column of the record batch; NULL where there is none of that name. */
ArrowArray *arrow_column(const ArrowStream *stream, const char *name);

#endif
