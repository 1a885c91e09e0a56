/*
 * pprof_wire.c
 *		Reads fields of a protobuf message.
 */
#include <string.h>

#include "formats/pprof_wire.h"

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

/* Skips a field whose value is not a number, or whose field number is not below count. */
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
		if ((tag & ((1 << PFS_WIRE_TAG_SHIFT) - 1)) != PFS_WIRE_VARINT ||
			tag >> PFS_WIRE_TAG_SHIFT == 0)
		{
			at = begin;
			if (!pass_over(message, &at, count))
				return false;
			continue;
		}
		if (!pfs_wire_varint(message->bytes, message->length, &at, &value))
			return false;
		if (tag >> PFS_WIRE_TAG_SHIFT < count)
			numbers[tag >> PFS_WIRE_TAG_SHIFT] = value;
	}
	return true;
}
