/*
 * pclntab.h
 *		Unwind rules from Go's own function table, which no linker flag strips: the depth of the
 *		stack at every instruction.
 *
 * Go's programs have no .eh_frame; their .debug_frame goes with "-s -w", tells nothing of frame
 * pointers, and knows neither roots nor the functions that change to another stack. Layout:
 * runtime/symtab.go and runtime/runtime2.go of Go 1.18 and later; tables of older ones are left to
 * .debug_frame.
 */
#ifndef COLLECTOR_PCLNTAB_H
#define COLLECTOR_PCLNTAB_H

#include <stdbool.h>

#include "unwind/cfi_program.h"

/* A table whose header makes sense; borrows the input's bytes. */
typedef struct Pclntab
{
	const uint8_t *data;
	size_t length;
	uint16_t machine;
	uint64_t text;	  /* ELF virtual address that functions count from */
	uint64_t limit;	  /* end of the file's code */
	uint32_t count;	  /* functions, by ascending address */
	uint8_t quantum;  /* of instruction addresses */
	size_t id_offset; /* of the flags in a function's entry */
	size_t names;	  /* offsets of parts */
	size_t values;
	size_t functions;
} Pclntab;

typedef struct PclntabFunction
{
	uint64_t start; /* ELF virtual addresses, half-open */
	uint64_t end;
	const char *name; /* "" where none matters */
	uint8_t flags;
	size_t depths; /* offset of the function's stack depths; 0: it has none */
} PclntabFunction;

/* False where the input has no table of a known layout. */
bool pclntab_open(const CfiInput *input, Pclntab *table);

/*
 * False where the entry is malformed, or the function is foreign code, which the table has no
 * depths of.
 */
bool pclntab_function(const Pclntab *table, uint32_t number, PclntabFunction *function);

/* As cfi_program_run. */
int pclntab_rows(const Pclntab *table, const PclntabFunction *function, CfiRowSink sink,
				 void *context, uint64_t *unsupported);

#endif
