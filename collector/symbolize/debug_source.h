/*
 * debug_source.h
 *		Debug information by build ID: from a directory, from a cache, from servers.
 *
 * Every file is checked before it is used: it must be an ELF file with just this build ID. A server
 * that sends another one is not asked for an hour. A server that fails is not asked for 30 s, and
 * twice as long after each further failure, up to 10 min. Only "404 Not Found" means that a server
 * does not have the file.
 */
#ifndef COLLECTOR_DEBUG_SOURCE_H
#define COLLECTOR_DEBUG_SOURCE_H

#include <stdbool.h>

#include "symbolize/symbolize_options.h"

typedef struct DebugSource DebugSource;

/* 0; -ENOMEM; -EINVAL: a server's URL is invalid; -errno of the cache directory. */
int debug_source_create(const SymbolizeOptions *options, DebugSource **source);
void debug_source_free(DebugSource *source); /* accepts NULL */

/*
 * Returns whether a file is an ELF file of this build that names any code: if it was cut off, the
 * sections are missing.
 */
bool debug_file_is_of(int fd, const char *build_id);

/* A file with debug information. */
typedef struct DebugFile
{
	int fd;			 /* the caller closes it; -1: none was found */
	char where[512]; /* path or URL; if none was found, the reason */
} DebugFile;

/*
 * Finds the debug information of a build; build_id is hexadecimal. Waits for servers, but no longer
 * than until a signal asks to stop.
 */
void debug_source_find(DebugSource *source, const char *build_id, DebugFile *file);

#endif
