/*
 * pprof_wire.h
 *		Fields of a protobuf message, one after the other. Knows no server header.
 *
 * Every length is checked before what it spans is looked at. Errors are static texts.
 */
#ifndef PFS_PPROF_WIRE_H
#define PFS_PPROF_WIRE_H

#include "formats/profile.h"

#define PFS_WIRE_VARINT	 0
#define PFS_WIRE_64_BITS 1
#define PFS_WIRE_BYTES	 2
#define PFS_WIRE_32_BITS 5

/* One field: its number, and a number or bytes. */
typedef struct PfsWireField
{
	uint64_t number;
	unsigned wire_type;
	uint64_t value;
	const uint8_t *bytes;
	size_t length;
} PfsWireField;

/* The varint at *at where it has more than one byte; see pfs_wire_varint. */
bool pfs_wire_long_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value);

/* Reads a varint at *at; false at the end of the bytes, or beyond 64 bits. */
static inline bool
pfs_wire_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value)
{
	if (*at < length && bytes[*at] < 0x80)
	{
		*value = bytes[(*at)++];
		return true;
	}
	return pfs_wire_long_varint(bytes, length, at, value);
}

/*
 * Reads the field at *at, which moves behind it; returns what is wrong with it, NULL for nothing.
 */
const char *pfs_wire_field(const uint8_t *bytes, size_t length, size_t *at, PfsWireField *field);

/*
 * Reads a message whose fields are numbers: those numbered below count, 0 where one is not there.
 * False for what is no such message.
 */
bool pfs_wire_numbers(const PfsWireField *message, uint64_t *numbers, uint32_t count);

#endif
