/*
 * wire.c
 *		Encodes and decodes PostgreSQL's binary formats.
 */
#include "database/wire.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define BUFFER_MIN_BYTES   256
#define ARRAY_HEADER_BYTES 20

/* Microseconds from 1970-01-01 to 2000-01-01. */
#define POSTGRES_EPOCH_US INT64_C(946684800000000)

void
buffer_fini(Buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (Buffer){ NULL };
}

void
buffer_reset(Buffer *buffer)
{
	buffer->length = 0;
	buffer->failed = false;
}

static bool
buffer_grow(Buffer *buffer, size_t length)
{
	size_t capacity = buffer->capacity ? buffer->capacity * 2 : BUFFER_MIN_BYTES;
	char *bytes;

	if (capacity < buffer->length + length)
		capacity = buffer->length + length;
	bytes = realloc(buffer->bytes, capacity);
	if (bytes == NULL)
	{
		buffer->failed = true;
		return false;
	}
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return true;
}

char *
buffer_extend(Buffer *buffer, size_t length)
{
	char *start;

	if (buffer->failed)
		return NULL;
	if (buffer->capacity - buffer->length < length && !buffer_grow(buffer, length))
		return NULL;
	start = buffer->bytes + buffer->length;
	buffer->length += length;
	return start;
}

void
buffer_put_bytes(Buffer *buffer, const void *bytes, size_t length)
{
	char *start = buffer_extend(buffer, length);

	if (start != NULL && length > 0)
		memcpy(start, bytes, length);
}

static char *
store_int2(char *to, int16_t value)
{
	uint16_t big = htobe16((uint16_t) value);

	return mempcpy(to, &big, sizeof(big));
}

static char *
store_int4(char *to, int32_t value)
{
	uint32_t big = htobe32((uint32_t) value);

	return mempcpy(to, &big, sizeof(big));
}

static char *
store_int8(char *to, int64_t value)
{
	uint64_t big = htobe64((uint64_t) value);

	return mempcpy(to, &big, sizeof(big));
}

static int32_t
load_int4(const char *from)
{
	uint32_t big;

	memcpy(&big, from, sizeof(big));
	return (int32_t) be32toh(big);
}

static int64_t
load_int8(const char *from)
{
	uint64_t big;

	memcpy(&big, from, sizeof(big));
	return (int64_t) be64toh(big);
}

void
buffer_put_int4(Buffer *buffer, int32_t value)
{
	char *start = buffer_extend(buffer, sizeof(value));

	if (start != NULL)
		store_int4(start, value);
}

void
buffer_put_int8(Buffer *buffer, int64_t value)
{
	char *start = buffer_extend(buffer, sizeof(value));

	if (start != NULL)
		store_int8(start, value);
}

void
wire_array(Buffer *buffer, int32_t element_type, size_t count)
{
	buffer_put_int4(buffer, count > 0);
	buffer_put_int4(buffer, 0);
	buffer_put_int4(buffer, element_type);
	if (count == 0)
		return;
	buffer_put_int4(buffer, (int32_t) count);
	buffer_put_int4(buffer, 1);
}

void
wire_array_of(Buffer *buffer, int32_t element_type, size_t count, const Buffer *elements)
{
	wire_array(buffer, element_type, count);
	buffer_put_bytes(buffer, elements->bytes, elements->length);
}

void
wire_int4_element(Buffer *buffer, int32_t value)
{
	char *start = buffer_extend(buffer, sizeof(int32_t) + sizeof(value));

	if (start != NULL)
		store_int4(store_int4(start, sizeof(value)), value);
}

void
wire_int8_element(Buffer *buffer, int64_t value)
{
	char *start = buffer_extend(buffer, sizeof(int32_t) + sizeof(value));

	if (start != NULL)
		store_int8(store_int4(start, sizeof(value)), value);
}

void
wire_bytes_element(Buffer *buffer, const void *bytes, size_t length)
{
	buffer_put_int4(buffer, (int32_t) length);
	buffer_put_bytes(buffer, bytes, length);
}

void
wire_text_element(Buffer *buffer, const char *text)
{
	wire_bytes_element(buffer, text, strlen(text));
}

static void
put_json_string(Buffer *buffer, const char *text)
{
	char escape[JSON_ESCAPE_BYTES];

	buffer_put_bytes(buffer, "\"", 1);
	for (; *text != '\0'; text++)
	{
		if (json_escape((unsigned char) *text, escape))
			buffer_put_bytes(buffer, escape, strlen(escape));
		else
			buffer_put_bytes(buffer, text, 1);
	}
	buffer_put_bytes(buffer, "\"", 1);
}

void
wire_json_labels(Buffer *buffer, const BatchLabel *labels, size_t count)
{
	buffer_put_bytes(buffer, "{", 1);
	for (size_t i = 0; i < count; i++)
	{
		if (i > 0)
			buffer_put_bytes(buffer, ",", 1);
		put_json_string(buffer, labels[i].name);
		buffer_put_bytes(buffer, ":", 1);
		put_json_string(buffer, labels[i].value);
	}
	buffer_put_bytes(buffer, "}", 1);
}

size_t
wire_begin(Buffer *buffer)
{
	buffer_put_int4(buffer, 0);
	return buffer->length;
}

void
wire_end(Buffer *buffer, size_t begun)
{
	if (!buffer->failed)
		store_int4(buffer->bytes + begun - sizeof(int32_t), (int32_t) (buffer->length - begun));
}

/* Returns the elements of an array; NULL if it does not have this element type, count and width. */
static const char *
array_elements(const char *bytes, size_t length, int32_t element_type, size_t count, size_t width)
{
	if (count == 0)
		return length >= 4 && load_int4(bytes) == 0 ? bytes : NULL;
	if (length != ARRAY_HEADER_BYTES + count * (sizeof(int32_t) + width))
		return NULL;
	if (load_int4(bytes) != 1 || load_int4(bytes + 4) != 0 ||
		load_int4(bytes + 8) != element_type || load_int4(bytes + 12) != (int64_t) count)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (load_int4(bytes + ARRAY_HEADER_BYTES + i * (sizeof(int32_t) + width)) !=
			(int32_t) width)
			return NULL;
	return bytes + ARRAY_HEADER_BYTES;
}

bool
wire_ints(const char *bytes, size_t length, int32_t element_type, size_t count, int64_t *values)
{
	size_t width = element_type == WIRE_INT4 ? sizeof(int32_t) : sizeof(int64_t);
	const char *element = array_elements(bytes, length, element_type, count, width);

	if (element == NULL)
		return false;
	for (size_t i = 0; i < count; i++, element += sizeof(int32_t) + width)
		values[i] = element_type == WIRE_INT4 ? load_int4(element + sizeof(int32_t))
											  : load_int8(element + sizeof(int32_t));
	return true;
}

bool
wire_text_next(WireTexts *texts)
{
	int32_t length;

	if (texts->at == 0)
		texts->at = ARRAY_HEADER_BYTES;
	if (texts->at >= texts->length || texts->length - texts->at < sizeof(length))
		return false;
	length = load_int4(texts->bytes + texts->at);
	texts->at += sizeof(length);
	if (length < 0 || (size_t) length > texts->length - texts->at)
		return false;
	texts->text = texts->bytes + texts->at;
	texts->text_length = (size_t) length;
	texts->at += (size_t) length;
	return true;
}

bool
wire_timestamp(int64_t unix_us, int64_t *timestamp_us)
{
	return !__builtin_sub_overflow(unix_us, POSTGRES_EPOCH_US, timestamp_us);
}

static int64_t
timestamp_or_infinity(int64_t unix_us)
{
	int64_t timestamp_us;

	if (!wire_timestamp(unix_us, &timestamp_us))
		timestamp_us = unix_us < 0 ? INT64_MIN : INT64_MAX;
	return timestamp_us;
}

void
wire_timestamp_param(Buffer *buffer, int64_t unix_us)
{
	buffer_put_int8(buffer, timestamp_or_infinity(unix_us));
}

void
wire_timestamp_element(Buffer *buffer, int64_t unix_us)
{
	wire_int8_element(buffer, timestamp_or_infinity(unix_us));
}

void
wire_copy_header(Buffer *buffer)
{
	static const char signature[] = {
		'P', 'G', 'C', 'O', 'P', 'Y', '\n', '\377', '\r', '\n', '\0'
	};

	buffer_put_bytes(buffer, signature, sizeof(signature));
	buffer_put_int4(buffer, 0); /* the header's field of flags */
	buffer_put_int4(buffer, 0); /* length of the header extension */
}

void
wire_copy_sample(char row[WIRE_SAMPLE_BYTES], int64_t timestamp_us, int32_t series_id,
				 int64_t stack_id, int64_t value)
{
	row = store_int2(row, 4);
	row = store_int8(store_int4(row, 8), timestamp_us);
	row = store_int4(store_int4(row, 4), series_id);
	row = store_int8(store_int4(row, 8), stack_id);
	store_int8(store_int4(row, 8), value);
}

void
wire_copy_trailer(Buffer *buffer)
{
	char *start = buffer_extend(buffer, sizeof(int16_t));

	if (start != NULL)
		store_int2(start, -1);
}
