/*
 * message.h
 *		Iterates over the fields of a protobuf message, and over repeated numbers in a field,
 *		with the wire reader of formats/.
 */
#ifndef COLLECTOR_OTLP_MESSAGE_H
#define COLLECTOR_OTLP_MESSAGE_H

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "formats/pprof_wire.h"

/* Bytes that another object owns. The object must outlive all pointers to them. */
typedef struct Span
{
	const uint8_t *bytes;
	size_t length;
} Span;

/*
 * A walk over a message: call message_next() while it returns true, and read walk.field after each
 * call.
 */
typedef struct Message
{
	Span span;
	size_t at;
	PfsWireField field;
	const char *error; /* error in the bytes; NULL: none */
} Message;

static inline Message
message_of(Span span)
{
	return (Message){ .span = span };
}

static inline bool
message_next(Message *message)
{
	if (message->error != NULL || message->at >= message->span.length)
		return false;
	message->error =
		pfs_wire_field(message->span.bytes, message->span.length, &message->at, &message->field);
	return message->error == NULL;
}

static inline Span
field_span(const PfsWireField *field)
{
	return (Span){ field->bytes, field->length };
}

static inline bool
field_is_message(const PfsWireField *field, unsigned number)
{
	return field->number == number && field->wire_type == PFS_WIRE_BYTES;
}

static inline bool
field_is_number(const PfsWireField *field, unsigned number)
{
	return field->number == number && field->wire_type == PFS_WIRE_VARINT;
}

/*
 * Returns true for a field of repeated indexes, which a client may write as one packed list or as
 * one field for each index.
 */
static inline bool
field_has_indexes(const PfsWireField *field, unsigned number)
{
	return field->number == number &&
		   (field->wire_type == PFS_WIRE_BYTES || field->wire_type == PFS_WIRE_VARINT);
}

static inline uint64_t
little_endian_64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

/*
 * Iterates over the numbers of one field, packed or not: call it while it returns true. fixed:
 * numbers have 64 bits each, otherwise they are varints. Returns false at the end, or with *error
 * set.
 */
static inline bool
packed_next(const PfsWireField *field, bool fixed, size_t *at, uint64_t *value, const char **error)
{
	if (*at >= field->length)
		return false;
	if (!fixed && pfs_wire_varint(field->bytes, field->length, at, value))
		return true;
	if (fixed && field->length - *at >= sizeof(uint64_t))
	{
		*value = little_endian_64(field->bytes + *at);
		*at += sizeof(uint64_t);
		return true;
	}
	*error = "a list of numbers is cut off within a number";
	return false;
}

/*
 * Counts the numbers of a packed field without decoding them: each varint has exactly one byte
 * without the continuation bit.
 */
static inline size_t
packed_count(const PfsWireField *field, bool fixed)
{
	size_t count = 0;

	if (fixed)
		return field->length / sizeof(uint64_t);
	for (size_t i = 0; i < field->length; i++)
		count += field->bytes[i] < 0x80;
	return count;
}

#endif
