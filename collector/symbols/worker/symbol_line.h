/*
 * symbol_line.h
 *		Function and line of an address, including inlined calls.
 */
#ifndef COLLECTOR_SYMBOL_LINE_H
#define COLLECTOR_SYMBOL_LINE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Line of a function without a symbol, which is named by its start: "hard+0x1540". It ranks below a
 * symbol, so that a later answer replaces it.
 */
#define SYMBOL_LINE_UNNAMED (-1)

typedef struct SymbolLine
{
	const char *name; /* demangled; not always valid UTF-8 */
	const char *system_name;
	const char *filename; /* "" if not known */
	int32_t start_line;
	int32_t line; /* 0: not known; or SYMBOL_LINE_UNNAMED */
} SymbolLine;

typedef struct SymbolLines
{
	uint32_t count;			 /* 0: nothing is known about the address */
	const SymbolLine *lines; /* innermost first; valid until the next call of the symbolizer */
} SymbolLines;

/* Returns true if a symbol or debug information names the address. */
static inline bool
symbol_lines_are_named(const SymbolLines *lines)
{
	return lines->count > 0 && lines->lines[0].line != SYMBOL_LINE_UNNAMED;
}

#endif
