/*
 * wire.h
 *		PostgreSQL's binary formats: array parameters, array results, rows of COPY.
 *
 * All numbers are big-endian. An array is
 *
 *		OFFSET	SIZE	DESCRIPTION
 *		0		4		dimensions: 1, or 0 for an empty array, which ends after the type
 *		4		4		1 where an element is null; never here
 *		8		4		OID of the elements' type
 *		12		4		number of elements
 *		16		4		lower bound: 1
 *		20				elements: length (4), bytes
 *
 * and COPY … (FORMAT binary) a header of 19 bytes, rows, and the number -1 (2). A row is its number
 * of fields (2), then each field's length (4) and bytes.
 */
#ifndef COLLECTOR_WIRE_H
#define COLLECTOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"

/* OIDs of built-in types, which never change. */
#define WIRE_BYTEA			   17
#define WIRE_BYTEA_ARRAY	   1001
#define WIRE_INT8			   20
#define WIRE_INT4			   23
#define WIRE_TEXT			   25
#define WIRE_TEXT_ARRAY		   1009
#define WIRE_INT4_ARRAY		   1007
#define WIRE_INT8_ARRAY		   1016
#define WIRE_TIMESTAMPTZ	   1184
#define WIRE_TIMESTAMPTZ_ARRAY 1185
#define WIRE_UUID			   2950
#define WIRE_UUID_ARRAY		   2951
#define WIRE_JSONB			   3802
#define WIRE_JSONB_ARRAY	   3807
#define WIRE_SAMPLE_BYTES	   46 /* one row of COPY: time, series_id, stack_id, value */
#define WIRE_COPY_HEADER_BYTES 19

/*
 * A growing byte buffer. After an allocation fails, "failed" is set and further bytes are ignored,
 * so that it suffices to check a message once, when it is complete.
 */
typedef struct Buffer
{
	char *bytes;
	size_t length;
	size_t capacity;
	bool failed;
} Buffer;

void buffer_fini(Buffer *buffer);  /* a zeroed Buffer is valid and empty */
void buffer_reset(Buffer *buffer); /* keeps the memory */

/* Appends length bytes for the caller to fill in and returns them; NULL on out of memory. */
char *buffer_extend(Buffer *buffer, size_t length);

void buffer_put_bytes(Buffer *buffer, const void *bytes, size_t length);
void buffer_put_int4(Buffer *buffer, int32_t value);
void buffer_put_int8(Buffer *buffer, int64_t value);

/*
 * Starts an array, which exactly count elements must follow. Each of the other functions adds one
 * element.
 */
void wire_array(Buffer *buffer, int32_t element_type, size_t count);
void wire_int4_element(Buffer *buffer, int32_t value);
void wire_int8_element(Buffer *buffer, int64_t value);
void wire_text_element(Buffer *buffer, const char *text);
void wire_bytes_element(Buffer *buffer, const void *bytes, size_t length);

/* Appends an array whose elements were added to another buffer. */
void wire_array_of(Buffer *buffer, int32_t element_type, size_t count, const Buffer *elements);

/* Appends labels as a JSON object; the object is part of an array's element. */
void wire_json_labels(Buffer *buffer, const BatchLabel *labels, size_t count);

/*
 * Begin and end an element whose length is not known in advance. wire_end() takes the result of
 * wire_begin().
 */
size_t wire_begin(Buffer *buffer);
void wire_end(Buffer *buffer, size_t begun);

/*
 * Reads an array of exactly count int4 or int8 (element_type) without nulls. Otherwise returns
 * false.
 */
bool wire_ints(const char *bytes, size_t length, int32_t element_type, size_t count,
			   int64_t *values);

/*
 * A walk over an array of texts without nulls: call wire_text_next() while it returns true, and
 * read walk.text after each call.
 */
typedef struct WireTexts
{
	const char *bytes;
	size_t length;
	size_t at; /* 0 at the start */
	const char *text;
	size_t text_length;
} WireTexts;

bool wire_text_next(WireTexts *texts);

/* Converts microseconds since 1970 to PostgreSQL's, since 2000. Returns false on overflow. */
bool wire_timestamp(int64_t unix_us, int64_t *timestamp_us);

/*
 * Appends a timestamp as a parameter; a time out of range becomes infinity, which the server
 * refuses.
 */
void wire_timestamp_param(Buffer *buffer, int64_t unix_us);

/* Appends a timestamp as an array element; a time out of range becomes infinity. */
void wire_timestamp_element(Buffer *buffer, int64_t unix_us);

void wire_copy_header(Buffer *buffer);
void wire_copy_sample(char row[WIRE_SAMPLE_BYTES], int64_t timestamp_us, int32_t series_id,
					  int64_t stack_id, int64_t value);
void wire_copy_trailer(Buffer *buffer);

#endif
