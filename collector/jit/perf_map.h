/*
 * perf_map.h
 *		Parser of perf maps, in which runtimes report the code that they generate: "START SIZE
 *		NAME".
 *
 * Format: tools/perf/Documentation/jit-interface.txt of Linux: numbers are hexadecimal, the name is
 * the rest of the line. Writers deviate: HotSpot and some versions of .NET prefix numbers with 0x,
 * V8 may cut names within a character, and CRLF occurs. The content is untrusted.
 */
#ifndef COLLECTOR_PERF_MAP_H
#define COLLECTOR_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_object.h"

typedef struct PerfMapLine
{
	uint64_t start;
	uint64_t end; /* exclusive; greater than start */
	char *name;	  /* within the parsed text; not "" */
} PerfMapLine;

/*
 * Parses a line without its newline in place. Returns false if it is malformed or describes no
 * code: no size, no name, or an end beyond the user's half of the address space.
 */
bool perf_map_parse_line(char *line, PerfMapLine *parsed);

/*
 * Splits a name by the runtime's conventions: V8's "JS:*name file:line:column" becomes name, file
 * and line, whatever the tier; CPython's "py::name:file" name and file; tiers of .NET are removed;
 * Erlang's "$module:function/arity" loses its mark; PHP's "TRACE-number$name$line" keeps its name.
 * Modifies the text; the result points into it.
 */
CodeName perf_map_name(char *name);

#endif
