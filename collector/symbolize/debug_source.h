/*
 * debug_source.h
 *		Finds debug information by build ID: in a directory, in a cache, or on servers.
 *
 * Every file is checked before it is used: it must be an ELF file with exactly this build ID. A
 * server that sends another file is not asked for an hour. A server that fails is not asked for 30
 * s, and for twice as long after each further failure, up to 10 min. Only "404 Not Found" means
 * that a server does not have the file.
 */
#ifndef COLLECTOR_DEBUG_SOURCE_H
#define COLLECTOR_DEBUG_SOURCE_H

#include <stdbool.h>

#include "symbolize/symbolize_options.h"

typedef struct DebugSource DebugSource;

/*
 * Makes a source. Returns 0; -ENOMEM; -EINVAL if a server's URL is invalid; -errno of the cache
 * directory.
 */
int debug_source_create(const SymbolizeOptions *options, DebugSource **source);
void debug_source_free(DebugSource *source); /* accepts NULL */

/*
 * Returns true if a file is an ELF file of this build that names code. A file that was cut off
 * lacks the sections for that.
 */
bool debug_file_is_of(int fd, const char *build_id);

/* A file with debug information, or the reason why none was found. */
typedef struct DebugFile
{
	int fd;			 /* the caller closes it; -1: none was found */
	char where[512]; /* path or URL; if none was found, the reason */
} DebugFile;

/*
 * Finds the debug information of a build; build_id is hexadecimal. Waits for servers, but at most
 * until a signal asks to stop.
 */
void debug_source_find(DebugSource *source, const char *build_id, DebugFile *file);

/*
 * Fetches a source file of a build from the servers. Returns a descriptor of a file without a name,
 * which the caller closes; -ENOENT if no server has it; -EHOSTDOWN if none could answer.
 */
int debug_source_fetch_text(DebugSource *source, const char *build_id, const char *path);

#endif
