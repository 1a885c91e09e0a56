/*
 * symbolize_options.h
 *		Options of symbolize.
 */
#ifndef COLLECTOR_SYMBOLIZE_OPTIONS_H
#define COLLECTOR_SYMBOLIZE_OPTIONS_H

#include "program/common_flags.h"
#include "symbols/worker/name_style.h"

#define SYMBOLIZE_FLAGS_MAX 18

typedef struct SymbolizeOptions
{
	const char *database;		 /* libpq connection string */
	const char *debug_directory; /* directory of separate debug files, by build ID; "": none */
	const char *servers;		 /* URLs of debuginfod servers, separated by spaces; "": none */
	/* directory of the files that servers sent; "": none, and no server is asked */
	const char *cache_directory;
	size_t cache_bytes;		   /* limit of all files in the cache */
	size_t file_bytes;		   /* limit of one file that a server sends */
	int64_t server_timeout_ms; /* limit of the time for one file */
	size_t max_memory_bytes;   /* memory limit of the process that reads debug information */
	int64_t interval_ms;	   /* time between two searches for new addresses */
	int demangle;			   /* NameStyle */
	bool store_texts;		   /* store source files that servers have */
	bool once;				   /* end when nothing is left to try */
	LogOptions log;
} SymbolizeOptions;

/* Sets the defaults and describes only the 6 flags of sources. Returns their number. */
size_t symbolize_source_flags(SymbolizeOptions *options, Flag *flags);

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t symbolize_flags(SymbolizeOptions *options, Flag flags[SYMBOLIZE_FLAGS_MAX]);

#endif
