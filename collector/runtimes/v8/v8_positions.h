/*
 * v8_positions.h
 *		Reads V8's tables of positions, which map bytecode and machine code to the source code.
 *
 * A table is a list of pairs of variable-length numbers: the difference of offsets in the code,
 * with a mark for expressions as its sign, and the difference of positions.
 */
#ifndef COLLECTOR_V8_POSITIONS_H
#define COLLECTOR_V8_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct V8Position
{
	int32_t offset;	  /* in the source code; -1: unknown */
	uint32_t inlined; /* number of the inlined function, counted from 1; 0: none */
} V8Position;

/* Splits a position in V8's encoding. */
V8Position v8_position_split(uint64_t value);

/*
 * Finds the position of the last entry up to an offset of code. shift: bits below the difference
 * of offsets. Returns false if there is none.
 */
bool v8_position_find(const uint8_t *table, size_t length, unsigned shift, uint32_t offset,
					  V8Position *position);

/* Bytecode, and the sizes of its instructions. */
typedef struct V8Bytecodes
{
	const uint8_t *code;
	size_t length;
	const uint8_t *sizes; /* count each for single, double and quadruple operands */
	uint32_t count;
} V8Bytecodes;

/*
 * Finds the offset of the bytecode that an instruction of baseline code executes. The table has the
 * number of bytes of machine code of the prologue and of each bytecode. Returns false if it ends
 * before.
 */
bool v8_baseline_find(const uint8_t *table, size_t length, const V8Bytecodes *bytecodes,
					  uint32_t pc_offset, uint32_t *offset);

#endif
