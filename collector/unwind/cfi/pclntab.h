/*
 * pclntab.h
 *		Unwind rules from Go's own function table, which linker flags do not strip: it has the
 *		stack depth at every instruction.
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
	uint64_t text;	  /* ELF virtual address that functions are relative to */
	uint64_t limit;	  /* end of the file's code */
	uint32_t count;	  /* number of functions, which are ascending */
	uint8_t quantum;  /* alignment of instruction addresses */
	size_t id_offset; /* offset of the flags in a function's entry */
	size_t names;	  /* offsets of the table's parts */
	size_t values;
	size_t functions;
} Pclntab;

typedef struct PclntabFunction
{
	uint64_t start; /* ELF virtual addresses, half-open */
	uint64_t end;
	const char *name; /* "" if the name does not matter */
	uint8_t flags;
	size_t depths; /* offset of the function's stack depths; 0: none */
} PclntabFunction;

/* Returns false if the input has no table of a known layout. */
bool pclntab_open(const CfiInput *input, Pclntab *table);

/*
 * Returns false if the entry is malformed, or the function is foreign code, for which the table has
 * no depths.
 */
bool pclntab_function(const Pclntab *table, uint32_t number, PclntabFunction *function);

/* Emits the function's rows. Returns what cfi_program_run() returns. */
int pclntab_rows(const Pclntab *table, const PclntabFunction *function, CfiRowSink sink,
				 void *context, uint64_t *unsupported);

#endif
