/*
 * v8_positions.c
 *		Decodes variable-length numbers.
 */
#include "runtimes/v8/v8_positions.h"

/* Bytecodes that widen the operands of the next one. */
#define BYTECODE_WIDE		  0
#define BYTECODE_DEBUG_WIDE	  2
#define BYTECODE_DEBUG_EXTRA  3
#define POSITION_OFFSET_SHIFT 1 /* bit 0 means: outside of the source code */
#define POSITION_OFFSET_BITS  30
#define POSITION_INLINED	  31
#define POSITION_INLINED_BITS 16

typedef struct V8Bytes
{
	const uint8_t *at;
	const uint8_t *end;
} V8Bytes;

/* Reads a number of 7 bits per byte, lowest first. Returns false at the end of the table. */
static bool
take_number(V8Bytes *bytes, uint64_t *number)
{
	unsigned shift = 0;

	*number = 0;
	while (bytes->at < bytes->end)
	{
		uint8_t byte = *bytes->at++;

		if (shift < 64)
			*number |= (uint64_t) (byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Converts a number whose lowest bit is the sign. */
static int64_t
signed_of(uint64_t number)
{
	return (int64_t) (number >> 1) ^ -(int64_t) (number & 1);
}

V8Position
v8_position_split(uint64_t value)
{
	uint64_t offset = value >> POSITION_OFFSET_SHIFT & ((1U << POSITION_OFFSET_BITS) - 1);
	bool is_external = (value & 1) != 0;

	/* positions are stored plus one */
	return (V8Position){ .offset = is_external ? -1 : (int32_t) offset - 1,
						 .inlined = (uint32_t) (value >> POSITION_INLINED &
												((1U << POSITION_INLINED_BITS) - 1)) };
}

bool
v8_position_find(const uint8_t *table, size_t length, unsigned shift, uint32_t offset,
				 V8Position *position)
{
	V8Bytes bytes = { table, table + length };
	uint64_t value = 0;
	int64_t at = -1;
	bool found = false;
	uint64_t step;
	uint64_t change;

	while (take_number(&bytes, &step) && take_number(&bytes, &change))
	{
		int64_t difference = signed_of(step >> shift);

		/* an expression's difference d is stored as -d - 1 */
		at += difference >= 0 ? difference : -(difference + 1);
		if (at > (int64_t) offset)
			break;
		value += (uint64_t) signed_of(change);
		*position = v8_position_split(value);
		found = true;
	}
	return found;
}

/* Returns the number of bytes of the bytecode at an offset, including its prefix; 0: unknown. */
static size_t
bytecode_size(const V8Bytecodes *bytecodes, size_t offset)
{
	size_t prefix = 0;
	uint32_t scale = 0;
	uint8_t bytecode = bytecodes->code[offset];

	if (bytecode <= BYTECODE_DEBUG_EXTRA)
	{
		scale = bytecode == BYTECODE_WIDE || bytecode == BYTECODE_DEBUG_WIDE ? 1 : 2;
		prefix = 1;
		if (offset + 1 >= bytecodes->length)
			return 0;
		bytecode = bytecodes->code[offset + 1];
	}
	if (bytecode >= bytecodes->count)
		return 0;
	return prefix + bytecodes->sizes[scale * bytecodes->count + bytecode];
}

bool
v8_baseline_find(const uint8_t *table, size_t length, const V8Bytecodes *bytecodes,
				 uint32_t pc_offset, uint32_t *offset)
{
	V8Bytes bytes = { table, table + length };
	uint64_t pc = 0;
	uint64_t step;
	size_t at = 0;

	/* the first number is the length of the prologue, which counts as part of the first bytecode */
	if (!take_number(&bytes, &step))
		return false;
	pc = step;
	*offset = 0;
	while (pc <= pc_offset)
	{
		size_t size;

		if (at >= bytecodes->length || !take_number(&bytes, &step))
			return false;
		*offset = (uint32_t) at;
		size = bytecode_size(bytecodes, at);
		if (size == 0)
			return false;
		at += size;
		pc += step;
	}
	return true;
}
