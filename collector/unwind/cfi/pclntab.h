/*
 * pclntab.h
 *		Makes unwind rules from Go's own function table, which has the stack depth at every
 *		instruction and which linker flags do not strip.
 *
 * Go's programs have no .eh_frame. Their .debug_frame is removed by "-s -w", does not describe
 * frame pointers, and marks neither roots nor functions that switch stacks. Layout:
 * runtime/symtab.go and runtime/runtime2.go of Go 1.18 and later; for older tables .debug_frame is
 * used.
 */
#ifndef COLLECTOR_PCLNTAB_H
#define COLLECTOR_PCLNTAB_H

#include <stdbool.h>

#include "unwind/cfi/cfi_program.h"

/* A table with a valid header; borrows the input's bytes. */
typedef struct Pclntab
{
	const uint8_t *data;
	size_t length;
	uint16_t machine;
	uint64_t text;	  /* ELF virtual address to which the functions' addresses are relative */
	uint64_t limit;	  /* end of the file's code */
	uint32_t count;	  /* number of functions, which are ascending */
	uint8_t quantum;  /* alignment of instruction addresses */
	size_t id_offset; /* offset of the flags within the entry of a function */
	/* offset of the names; the next fields are those of the table's other parts */
	size_t names;
	size_t values;
	size_t functions;
} Pclntab;

typedef struct PclntabFunction
{
	uint64_t start; /* ELF virtual addresses, half-open */
	uint64_t end;
	const char *name; /* "" if no rule depends on the name */
	uint8_t flags;
	size_t depths; /* offset of the function's stack depths; 0: none */
} PclntabFunction;

/* Reads the header of Go's table. Returns false if the input has no table of a known layout. */
bool pclntab_open(const CfiInput *input, Pclntab *table);

/*
 * Reads the entry of a function. Returns false if it is malformed, or if the function is foreign
 * code, for which the table has no depths.
 */
bool pclntab_function(const Pclntab *table, uint32_t number, PclntabFunction *function);

/* Emits the rows of the function. Returns like cfi_program_run(). */
int pclntab_rows(const Pclntab *table, const PclntabFunction *function, CfiRowSink sink,
				 void *context, uint64_t *unsupported);

#endif
