/*
 * pprof_wire.c
 *		Fields of a protobuf message.
 */
#include <string.h>

#include "formats/pprof_wire.h"

/* The number of a field is shifted by this in its tag. */
#define TAG_SHIFT 3

bool
pfs_wire_long_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && *at < length; shift += 7)
	{
		uint8_t byte = bytes[(*at)++];

		if (shift == 63 && byte > 1)
			return false;
		*value |= (uint64_t) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return true;
	}
	return false;
}

const char *
pfs_wire_field(const uint8_t *bytes, size_t length, size_t *at, PfsWireField *field)
{
	uint64_t tag;

	if (!pfs_wire_varint(bytes, length, at, &tag) || tag >> TAG_SHIFT == 0)
		return "invalid field tag";
	*field =
		(PfsWireField){ .number = tag >> TAG_SHIFT, .wire_type = tag & ((1 << TAG_SHIFT) - 1) };
	switch (field->wire_type)
	{
		case PFS_WIRE_VARINT:
			return pfs_wire_varint(bytes, length, at, &field->value) ? NULL : "invalid number";
		case PFS_WIRE_BYTES:
			if (!pfs_wire_varint(bytes, length, at, &field->value))
				return "invalid length";
			break;
		case PFS_WIRE_64_BITS:
			field->value = 8;
			break;
		case PFS_WIRE_32_BITS:
			field->value = 4;
			break;
		default:
			return "unknown wire type";
	}
	if (field->value > length - *at)
		return "field extends beyond the end";
	field->bytes = bytes + *at;
	field->length = (size_t) field->value;
	*at += field->length;
	return NULL;
}

/* Passes over a field that is no number, and is none of those that are wanted. */
static bool
pass_over(const PfsWireField *message, size_t *at, uint32_t count)
{
	PfsWireField field;

	return pfs_wire_field(message->bytes, message->length, at, &field) == NULL &&
		   field.number >= count;
}

bool
pfs_wire_numbers(const PfsWireField *message, uint64_t *numbers, uint32_t count)
{
	memset(numbers, 0, count * sizeof(numbers[0]));
	for (size_t at = 0; at < message->length;)
	{
		size_t begin = at;
		uint64_t tag;
		uint64_t value;

		if (!pfs_wire_varint(message->bytes, message->length, &at, &tag))
			return false;
		if ((tag & ((1 << TAG_SHIFT) - 1)) != PFS_WIRE_VARINT || tag >> TAG_SHIFT == 0)
		{
			at = begin;
			if (!pass_over(message, &at, count))
				return false;
			continue;
		}
		if (!pfs_wire_varint(message->bytes, message->length, &at, &value))
			return false;
		if (tag >> TAG_SHIFT < count)
			numbers[tag >> TAG_SHIFT] = value;
	}
	return true;
}
