/*
 * bytes.c
 *		Growing buffer and checked cursor.
 */
#include "codec/bytes.h"

#include <string.h>

#define VARINT_MAX_BYTES   10
#define BUFFER_FIRST_BYTES 64

void
pfs_buffer_init(PfsBuffer *buffer, PfsAllocator allocator)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->allocator = allocator;
}

void
pfs_buffer_fini(PfsBuffer *buffer)
{
	if (buffer->data != NULL)
		buffer->allocator.realloc(buffer->allocator.context, buffer->data, 0);
	buffer->data = NULL;
	buffer->length = buffer->capacity = 0;
}

uint8_t *
pfs_buffer_reserve(PfsBuffer *buffer, size_t bytes)
{
	if (buffer->failed)
		return NULL;
	/* A request of 0 bytes allocates, too, so that NULL always means out of memory. */
	if (buffer->data == NULL || buffer->capacity - buffer->length < bytes)
	{
		size_t capacity = buffer->capacity * 2;
		uint8_t *data;

		/* The doubled capacity may still be too small for one large request. */
		if (capacity < buffer->length + bytes)
			capacity = buffer->length + bytes;
		if (capacity < BUFFER_FIRST_BYTES)
			capacity = BUFFER_FIRST_BYTES;
		data = buffer->allocator.realloc(buffer->allocator.context, buffer->data, capacity);
		if (data == NULL)
		{
			buffer->failed = true;
			return NULL;
		}
		buffer->data = data;
		buffer->capacity = capacity;
	}
	return buffer->data + buffer->length;
}

uint8_t *
pfs_buffer_extend(PfsBuffer *buffer, size_t bytes)
{
	uint8_t *place = pfs_buffer_reserve(buffer, bytes);

	if (place != NULL)
		buffer->length += bytes;
	return place;
}

void
pfs_buffer_put(PfsBuffer *buffer, const void *bytes, size_t length)
{
	uint8_t *place = pfs_buffer_extend(buffer, length);

	if (place != NULL && length > 0)
		memcpy(place, bytes, length);
}

void
pfs_buffer_put_byte(PfsBuffer *buffer, uint8_t value)
{
	pfs_buffer_put(buffer, &value, 1);
}

void
pfs_buffer_put16(PfsBuffer *buffer, uint16_t value)
{
	uint8_t bytes[2];

	pfs_store16(bytes, value);
	pfs_buffer_put(buffer, bytes, sizeof(bytes));
}

void
pfs_buffer_put32(PfsBuffer *buffer, uint32_t value)
{
	uint8_t bytes[4];

	pfs_store32(bytes, value);
	pfs_buffer_put(buffer, bytes, sizeof(bytes));
}

void
pfs_buffer_put_varint(PfsBuffer *buffer, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];
	size_t length = 0;

	while (value >= 0x80)
	{
		/* The top bit says that another byte follows. */
		bytes[length++] = (uint8_t) (value | 0x80);
		value >>= 7;
	}
	bytes[length++] = (uint8_t) value;
	pfs_buffer_put(buffer, bytes, length);
}

PfsBytes
pfs_buffer_take(PfsBuffer *buffer)
{
	PfsBytes bytes = { buffer->data, buffer->length };

	/* Callers free the result only if its data are not NULL, so an empty result has no memory. */
	if (bytes.length == 0)
	{
		pfs_buffer_fini(buffer);
		bytes.data = NULL;
	}
	else if (buffer->length < buffer->capacity)
	{
		uint8_t *data =
			buffer->allocator.realloc(buffer->allocator.context, bytes.data, bytes.length);

		/* a block that cannot be cut stays as long as it was */
		if (data != NULL)
			bytes.data = data;
	}
	buffer->data = NULL;
	buffer->length = buffer->capacity = 0;
	return bytes;
}

const uint8_t *
pfs_cursor_take(PfsCursor *cursor, size_t bytes)
{
	const uint8_t *place;

	/*
	 * The offset never exceeds the length, so the difference cannot wrap, as offset + bytes could.
	 */
	if (cursor->failed || cursor->length - cursor->offset < bytes)
	{
		cursor->failed = true;
		return NULL;
	}
	place = cursor->data + cursor->offset;
	cursor->offset += bytes;
	return place;
}

uint8_t
pfs_cursor_byte(PfsCursor *cursor)
{
	const uint8_t *place = pfs_cursor_take(cursor, 1);

	return place == NULL ? 0 : *place;
}

uint16_t
pfs_cursor_get16(PfsCursor *cursor)
{
	const uint8_t *place = pfs_cursor_take(cursor, 2);

	return place == NULL ? 0 : pfs_load16(place);
}

uint32_t
pfs_cursor_get32(PfsCursor *cursor)
{
	const uint8_t *place = pfs_cursor_take(cursor, 4);

	return place == NULL ? 0 : pfs_load32(place);
}

uint64_t
pfs_cursor_varint(PfsCursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7)
	{
		uint8_t byte = pfs_cursor_byte(cursor);

		/*
		 * the tenth byte can contribute only one bit; a trailing zero byte is refused, so that each
		 * number has exactly one encoding
		 */
		if (cursor->failed || (shift == 63 && byte > 1) || (shift > 0 && byte == 0))
			break;
		value |= (uint64_t) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	cursor->failed = true;
	return 0;
}
