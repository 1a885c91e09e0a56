/*
 * symbolize_options.c
 *		Flags of symbolize.
 */
#include "symbolize/symbolize_options.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t) 1024 * 1024)

static const char *const demangle_choices[] = { NAME_STYLE_CHOICES, NULL };

size_t
symbolize_source_flags(SymbolizeOptions *options, Flag *flags)
{
	const Flag own[] = {
		{ "debug-directory", FLAG_TEXT, &options->debug_directory, "DIR",
		  "directory of separate debug files, by build ID; default: /usr/lib/debug" },
		{ "debuginfod", FLAG_TEXT, &options->servers, "URLS",
		  "debuginfod servers, asked in this order, separated by spaces; default: $DEBUGINFOD_URLS" },
		{ "cache-directory", FLAG_TEXT, &options->cache_directory, "DIR",
		  "directory for files that servers send; without it no server is asked" },
		{ "cache-size", FLAG_SIZE, &options->cache_bytes, "SIZE",
		  "limit of all files in --cache-directory; default: 4GB", 1048576 },
		{ "max-file", FLAG_SIZE, &options->file_bytes, "SIZE",
		  "limit of the file that a server sends for one binary; default: 512MB", 4096 },
		{ "server-timeout", FLAG_DURATION, &options->server_timeout_ms, "TIME",
		  "limit of the time that a server takes for one file; default: 5min", 1000, 3600000 },
	};
	const char *servers = getenv("DEBUGINFOD_URLS");

	*options = (SymbolizeOptions){ .debug_directory = "/usr/lib/debug",
								   .servers = servers != NULL ? servers : "",
								   .cache_directory = "",
								   .cache_bytes = 4096 * MIB,
								   .file_bytes = 512 * MIB,
								   .server_timeout_ms = 300000,
								   .max_memory_bytes = 512 * MIB,
								   .interval_ms = 10000 };
	return flags_append(flags, 0, own, sizeof(own) / sizeof(own[0]));
}

size_t
symbolize_flags(SymbolizeOptions *options, Flag flags[SYMBOLIZE_FLAGS_MAX])
{
	const Flag own[] = {
		{ "max-memory", FLAG_SIZE, &options->max_memory_bytes, "SIZE",
		  "memory limit of the process that reads debug information; default: 512MB", 16777216 },
		{ "demangle", FLAG_CHOICE, &options->demangle, "HOW",
		  "names of C++ and Rust functions: full (default), simple (C++ without arguments of templates "
		  "and parameters), none",
		  .choices = demangle_choices },
		{ "interval", FLAG_DURATION, &options->interval_ms, "TIME",
		  "interval of searches for new addresses; default: 10s", 100, 3600000 },
		{ "sources", FLAG_SWITCH, &options->store_texts, NULL,
		  "store the source files that debuginfod servers have, for profstore.source()" },
		{ "once", FLAG_SWITCH, &options->once, NULL,
		  "end when no build is left to try, instead of waiting for new addresses" },
	};
	size_t count = symbolize_source_flags(options, flags);

	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
