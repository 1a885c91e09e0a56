/*
 * symbol_line.h
 *		What is known of an address: the function and the line, of inlined calls as well.
 */
#ifndef COLLECTOR_SYMBOL_LINE_H
#define COLLECTOR_SYMBOL_LINE_H

#include <stdint.h>

typedef struct SymbolLine
{
	const char *name; /* demangled; bytes of a file, not always UTF-8 */
	const char *system_name;
	const char *filename; /* "" where not known */
	int32_t start_line;
	int32_t line; /* 0: not known */
} SymbolLine;

typedef struct SymbolLines
{
	uint32_t count;			 /* 0: no symbol covers the address */
	const SymbolLine *lines; /* innermost first; hold until the symbolizer's next call */
} SymbolLines;

#endif
