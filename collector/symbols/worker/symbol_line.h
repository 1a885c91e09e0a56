/*
 * symbol_line.h
 *		Function and line of an address, including inlined calls.
 */
#ifndef COLLECTOR_SYMBOL_LINE_H
#define COLLECTOR_SYMBOL_LINE_H

#include <stdint.h>

typedef struct SymbolLine
{
	const char *name; /* demangled; not always valid UTF-8 */
	const char *system_name;
	const char *filename; /* "" if unknown */
	int32_t start_line;
	int32_t line; /* 0: unknown */
} SymbolLine;

typedef struct SymbolLines
{
	uint32_t count;			 /* 0: no symbol covers the address */
	const SymbolLine *lines; /* innermost first; valid until the next call of the symbolizer */
} SymbolLines;

#endif
