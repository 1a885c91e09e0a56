/*
 * buffers.h
 *		Buffers in the body of a record batch, unpacked if they are compressed.
 */
#ifndef COLLECTOR_ARROW_BUFFERS_H
#define COLLECTOR_ARROW_BUFFERS_H

#include "arrow/schema.h"

/* A record batch or dictionary while it is loaded, with the positions of its next parts. */
typedef struct ArrowBatch
{
	const ArrowSchema *schema;
	Arena *arena;
	Span body;
	FlatVector nodes;	 /* lengths of arrays */
	FlatVector buffers;	 /* positions in the body */
	FlatVector variadic; /* number of buffers of each column of views */
	uint32_t node;
	uint32_t buffer;
	uint32_t views;
	size_t taken; /* number of bytes of the body that buffers have used so far */
	int codec;	  /* ARROW_PLAIN or a codec */
	const char *error;
} ArrowBatch;

/* Codecs, with their numbers in Arrow's format; ARROW_PLAIN is ours. */
#define ARROW_PLAIN		(-1)
#define ARROW_LZ4_FRAME 0
#define ARROW_ZSTD		1

/*
 * Returns the next buffer, which is a part of the body or was unpacked in the arena within its
 * budget. On failure returns false and sets batch->error, which is NULL if out of memory.
 */
bool arrow_buffer_next(ArrowBatch *batch, Span *buffer);

#endif
