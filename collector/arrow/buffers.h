/*
 * buffers.h
 *		Buffers of a record batch's body, unpacked.
 */
#ifndef COLLECTOR_ARROW_BUFFERS_H
#define COLLECTOR_ARROW_BUFFERS_H

#include "arrow/schema.h"

/* A record batch, or a dictionary, on its way: where its next parts are. */
typedef struct ArrowBatch
{
	const ArrowSchema *schema;
	Arena *arena;
	Span body;
	FlatVector nodes;	 /* lengths of arrays */
	FlatVector buffers;	 /* places in the body */
	FlatVector variadic; /* how many buffers views have */
	uint32_t node;
	uint32_t buffer;
	uint32_t views;
	size_t taken; /* bytes of the body that buffers had so far */
	int codec;	  /* ARROW_PLAIN, or how buffers are compressed */
	const char *error;
} ArrowBatch;

/* Codecs as they are numbered in the union's table, and none. */
#define ARROW_PLAIN		(-1)
#define ARROW_LZ4_FRAME 0
#define ARROW_ZSTD		1

/*
 * The next buffer: in the body, or unpacked in the arena, at most so much as its budget has. False
 * with batch->error.
 */
bool arrow_buffer_next(ArrowBatch *batch, Span *buffer);

#endif
