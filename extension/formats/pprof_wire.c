/*
 * pprof_wire.c
 *		Fields of a protobuf message, and objects in scratch memory.
 */
#include "formats/pprof_wire.h"

/* The number of a field is shifted by this in its tag. */
#define TAG_SHIFT 3

#define ARENA_ALIGNMENT 16

bool
pfs_wire_varint(const uint8_t *bytes, size_t length, size_t *at, uint64_t *value)
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

static void *
arena_alloc(void *context, size_t bytes)
{
	PfsMessageArena *arena = context;
	size_t aligned = (bytes + ARENA_ALIGNMENT) & ~(size_t) (ARENA_ALIGNMENT - 1);
	uint8_t *memory;

	if (aligned < bytes || aligned > arena->size - arena->used)
	{
		arena->wanted = aligned;
		return NULL;
	}
	memory = arena->memory + arena->used;
	arena->used += aligned;
	return memory;
}

static void
arena_free(void *context, void *memory)
{
}

/* At least doubles the memory. */
static bool
widen(PfsMessageArena *arena)
{
	PfsBudget *budget = arena->budget;
	size_t added = arena->size + arena->wanted;
	uint8_t *memory;

	if (added > budget->left)
	{
		budget->exhausted = true;
		return false;
	}
	memory =
		budget->allocator.realloc(budget->allocator.context, arena->memory, arena->size + added);
	if (memory == NULL)
		return false;
	budget->left -= added;
	arena->memory = memory;
	arena->size += added;
	return true;
}

void *
pfs_wire_message(PfsMessageArena *arena, const PfsWireField *field,
				 const ProtobufCMessageDescriptor *descriptor, bool *is_refused)
{
	ProtobufCAllocator allocator = { arena_alloc, arena_free, arena };
	void *message;

	do
	{
		arena->used = 0;
		arena->wanted = 0;
		message = protobuf_c_message_unpack(descriptor, &allocator, field->length, field->bytes);
	} while (message == NULL && arena->wanted != 0 && widen(arena));
	*is_refused = message == NULL && arena->wanted != 0;
	return message;
}
