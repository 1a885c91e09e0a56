/*
 * symbolize_options.h
 *		Options of symbolize.
 */
#ifndef COLLECTOR_SYMBOLIZE_OPTIONS_H
#define COLLECTOR_SYMBOLIZE_OPTIONS_H

#include "program/common_flags.h"
#include "symbols/worker/name_style.h"

#define SYMBOLIZE_FLAGS_MAX 17

typedef struct SymbolizeOptions
{
	const char *database;		 /* libpq connection string */
	const char *debug_directory; /* of separate debug files, by build ID; "": none */
	const char *servers;		 /* URLs of debuginfod servers, separated by spaces; "": none */
	const char *cache_directory; /* of files that servers sent; "": none, and no server is asked */
	size_t cache_bytes;			 /* of all files in it */
	size_t file_bytes;			 /* of one file that a server sends */
	int64_t server_timeout_ms;	 /* for one file */
	size_t max_memory_bytes;	 /* of the process that reads debug information */
	int64_t interval_ms;		 /* between two looks for new addresses */
	int demangle;				 /* NameStyle */
	bool once;					 /* end when nothing is left to try */
	LogOptions log;
} SymbolizeOptions;

/*
 * Sets the defaults and describes the flags of sources alone, of which there are 6. Returns their
 * number.
 */
size_t symbolize_source_flags(SymbolizeOptions *options, Flag *flags);

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t symbolize_flags(SymbolizeOptions *options, Flag flags[SYMBOLIZE_FLAGS_MAX]);

#endif
