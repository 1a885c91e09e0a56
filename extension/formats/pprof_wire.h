/*
 * pprof_wire.h
 *		Fields of a protobuf message, one after the other, and objects made of those that are
 *		messages themselves. Knows no server header.
 *
 * Every length is checked before what it spans is looked at. Errors are static texts.
 */
#ifndef PFS_PPROF_WIRE_H
#define PFS_PPROF_WIRE_H

#include <protobuf-c/protobuf-c.h>

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

/* Reads a varint at *at; false at the end of the bytes, or beyond 64 bits. */
bool pfs_wire_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value);

/*
 * Reads the field at *at, which moves behind it; returns what is wrong with it, NULL for nothing.
 */
const char *pfs_wire_field(const uint8_t *bytes, size_t length, size_t *at, PfsWireField *field);

/* Memory for the object of one message, which the next one reuses. Zeroed: none yet. */
typedef struct PfsMessageArena
{
	PfsBudget *budget;
	uint8_t *memory;
	size_t size;
	size_t used;
	size_t wanted; /* what a message needed beyond it */
} PfsMessageArena;

/*
 * The object of a message, which lives until the next call; NULL where the bytes are none, or where
 * memory or budget are out, which sets *is_refused.
 */
void *pfs_wire_message(PfsMessageArena *arena, const PfsWireField *field,
					   const ProtobufCMessageDescriptor *descriptor, bool *is_refused);

#endif
