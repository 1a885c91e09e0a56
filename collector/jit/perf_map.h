/*
 * perf_map.h
 *		Lines of perf maps, by which runtimes tell what they generate: "START SIZE NAME".
 *
 * Specified by tools/perf/Documentation/jit-interface.txt of Linux: numbers are hexadecimal, the
 * name is the rest of the line. Writers deviate: HotSpot and some versions of .NET begin numbers
 * with 0x, V8 cuts names inside of a character, Windows' line ends occur. A map is foreign text.
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
	uint64_t end; /* exclusive; behind start */
	char *name;	  /* in the text that was parsed; not "" */
} PerfMapLine;

/*
 * Parses one line without its newline, in place. False where it is none, or names no code: neither
 * size nor name, or an end beyond the user's half of the addresses.
 */
bool perf_map_parse_line(char *line, PerfMapLine *parsed);

/*
 * What people call the function of such a name, by the marks of the runtimes: V8's
 * "JS:*name file:line:column" is name, file and line whatever the tier, CPython's "py::name:file"
 * likewise, .NET's tiers are cut off, Erlang's "$module:function/arity" loses its mark, and PHP's
 * "TRACE-number$name$line" all but the name. Changes the text, which the result points into.
 */
CodeName perf_map_name(char *name);

#endif
