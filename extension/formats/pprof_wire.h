/*
 * pprof_wire.h
 *		Reads the fields of a protobuf message in order. Includes no server header.
 *
 * Every length is checked before the bytes that it spans are read. Errors are static texts.
 */
#ifndef PFS_PPROF_WIRE_H
#define PFS_PPROF_WIRE_H

#include "formats/profile.h"

#define PFS_WIRE_VARINT	 0
#define PFS_WIRE_64_BITS 1
#define PFS_WIRE_BYTES	 2
#define PFS_WIRE_32_BITS 5

/* A field: its number in the message, and its value, a number or bytes. */
typedef struct PfsWireField
{
	uint64_t number;
	unsigned wire_type;
	uint64_t value;
	const uint8_t *bytes;
	size_t length;
} PfsWireField;

/* A tag is the field's number shifted by this, plus the wire type. */
#define PFS_WIRE_TAG_SHIFT 3

/* Reads a varint of any length at *at; called by pfs_wire_varint(). */
bool pfs_wire_long_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value);

/* Reads a varint at *at. Returns false at the end of the bytes, or beyond 64 bits. */
static inline bool
pfs_wire_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value)
{
	const uint8_t *next = bytes + *at;

	if (*at < length && next[0] < 0x80)
	{
		*value = next[0];
		*at += 1;
		return true;
	}
	if (length - *at >= 2 && *at < length && next[1] < 0x80)
	{
		*value = (uint64_t) (next[0] & 0x7f) | (uint64_t) next[1] << 7;
		*at += 2;
		return true;
	}
	return pfs_wire_long_varint(bytes, length, at, value);
}

/* Reads the field at *at and advances *at. Returns a description of the error; NULL on success. */
static inline const char *
pfs_wire_field(const uint8_t *bytes, size_t length, size_t *at, PfsWireField *field)
{
	uint64_t tag;

	if (!pfs_wire_varint(bytes, length, at, &tag) || tag >> PFS_WIRE_TAG_SHIFT == 0)
		return "invalid field tag";
	*field = (PfsWireField){ .number = tag >> PFS_WIRE_TAG_SHIFT,
							 .wire_type = tag & ((1 << PFS_WIRE_TAG_SHIFT) - 1) };
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

/*
 * Reads a message whose fields are numbers, for fields below count; 0 for absent fields. Returns
 * false if the message is malformed.
 */
bool pfs_wire_numbers(const PfsWireField *message, uint64_t *numbers, uint32_t count);

#endif
