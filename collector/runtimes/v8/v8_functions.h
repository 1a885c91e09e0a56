/*
 * v8_functions.h
 *		Finds the functions that a frame of V8 represents: names, files, lines.
 */
#ifndef COLLECTOR_V8_FUNCTIONS_H
#define COLLECTOR_V8_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtimes/common/runtime_code.h"
#include "runtimes/v8/v8_codes.h"
#include "runtimes/v8/v8_positions.h"
#include "runtimes/v8/v8_scripts.h"

/* Cached data of a process. */
typedef struct V8State
{
	V8Scripts scripts;
	V8Codes codes;
} V8State;

/* A frame of a sample. */
typedef struct V8Frame
{
	uint64_t shared; /* address of the SharedFunctionInfo */
	uint64_t check;	 /* PFS_V8_CHECK */
	uint64_t pc;	 /* in generated machine code; 0: in code of V8's own */
	uint64_t bytecodes;
	uint32_t offset; /* offset of the bytecode; PFS_V8_NO_OFFSET: none */
} V8Frame;

/* Addresses of the sizes of bytecodes; address 0: unknown. */
typedef struct V8Sizes
{
	uint64_t address;
	uint32_t count;
} V8Sizes;

/*
 * Reads the functions of a frame. *code has no name if the function has changed since the sample.
 */
void v8_functions_read(V8State *state, V8Memory *memory, const V8Sizes *sizes, const V8Frame *frame,
					   RuntimeCode *code);

#endif
