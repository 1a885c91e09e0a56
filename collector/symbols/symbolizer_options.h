/*
 * symbolizer_options.h
 *		What a symbolizer may take, and where it looks.
 */
#ifndef COLLECTOR_SYMBOLIZER_OPTIONS_H
#define COLLECTOR_SYMBOLIZER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct SymbolizerOptions
{
	size_t cache_bytes;			 /* budget of results; those not asked for go first */
	const char *debug_directory; /* of separate debug files, such as /usr/lib/debug; NULL: none */
	bool inlined_lines;			 /* read DWARF for inlined calls and line numbers */
	size_t worker_bytes;		 /* that the worker process may allocate; 0: 128 MB */
	const char *table_directory; /* of symbol tables on disk, made if missing; NULL, "": none */
} SymbolizerOptions;

#endif
