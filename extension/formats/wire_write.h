/*
 * wire_write.h
 *		Writes fields of protobuf messages, which pprof_wire.h reads. Includes no server header.
 *
 * The caller guarantees the room: PFS_WIRE_FIELD_MAX bytes for a number, or for the head of bytes.
 * Fields that are zero need not be written.
 */
#ifndef PFS_WIRE_WRITE_H
#define PFS_WIRE_WRITE_H

#include "formats/pprof_wire.h"

#define PFS_WIRE_FIELD_MAX 20 /* two varints of 64 bits */

/* Returns the length of a varint. */
static inline size_t
pfs_wire_varint_bytes(uint64_t value)
{
	return (size_t) (63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* Writes a varint; returns the position after it. */
static inline char *
pfs_wire_put_varint(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char) (value | 0x80);
	*at++ = (char) value;
	return at;
}

/* Writes a field that is a number; returns the position after it. */
static inline char *
pfs_wire_put_number(char *at, uint32_t field, uint64_t value)
{
	at = pfs_wire_put_varint(at, (uint64_t) field << PFS_WIRE_TAG_SHIFT | PFS_WIRE_VARINT);
	return pfs_wire_put_varint(at, value);
}

/*
 * Writes the tag and length that precede the bytes of a field: a text, a message, or packed
 * numbers.
 */
static inline char *
pfs_wire_put_head(char *at, uint32_t field, uint64_t length)
{
	at = pfs_wire_put_varint(at, (uint64_t) field << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES);
	return pfs_wire_put_varint(at, length);
}

#endif
