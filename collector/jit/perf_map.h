/*
 * perf_map.h
 *		Parses perf maps, in which runtimes report the code that they generate: "START SIZE NAME".
 *
 * Format: tools/perf/Documentation/jit-interface.txt of Linux. Numbers are hexadecimal, the name is
 * the rest of the line. Writers deviate: HotSpot and some versions of .NET prefix numbers with 0x,
 * V8 may cut a name in the middle of a character, and lines may end with CRLF. The content is
 * untrusted.
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
	char *name;	  /* points into the parsed text; never "" */
} PerfMapLine;

/*
 * Parses a line, without its newline, in place. Returns false if the line is malformed or describes
 * no code: its size is 0, its name is empty, or it ends beyond user space.
 */
bool perf_map_parse_line(char *line, PerfMapLine *parsed);

/*
 * Splits a name by the conventions of its runtime. V8's "JS:*name file:line:column" becomes name,
 * file and line, whatever the mark of the tier. CPython's "py::name:file" becomes name and file.
 * .NET's names lose their tier, Erlang's "$module:function/arity" its "$". PHP's
 * "TRACE-number$name$line" stays as it is. Modifies the text; the result points into it.
 */
CodeName perf_map_name(char *name);

#endif
