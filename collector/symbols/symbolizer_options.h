/*
 * symbolizer_options.h
 *		Limits of a symbolizer, and directories.
 */
#ifndef COLLECTOR_SYMBOLIZER_OPTIONS_H
#define COLLECTOR_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/worker/name_style.h"

typedef struct SymbolizerOptions
{
	/* limit of the memory of results; the least recently used are dropped */
	size_t cache_bytes;
	const char *debug_directory; /* separate debug files, such as /usr/lib/debug; NULL: none */
	bool inlined_lines;			 /* read DWARF for inlined calls and line numbers */
	size_t worker_bytes;		 /* memory limit of the worker process; 0: 128 MB */
	const char *table_directory; /* symbol tables on disk, created if missing; NULL, "": none */
	NameStyle style;			 /* style of functions' names */
} SymbolizerOptions;

#endif
