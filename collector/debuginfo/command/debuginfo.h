/*
 * debuginfo.h
 *		The sub-command "debuginfo": debug information into the database, for symbolize.
 *
 * A build has its debug information, and production machines do not: so the build uploads it, under
 * the build ID, and strips the delivered files.
 */
#ifndef COLLECTOR_DEBUGINFO_H
#define COLLECTOR_DEBUGINFO_H

#include <stddef.h>

#include "symbolize/symbolize_options.h"

#define DEBUGINFO_FLAGS_MAX 16

typedef struct DebuginfoOptions
{
	const char *database;	  /* libpq connection string */
	const char *output;		  /* of extract: a file name */
	SymbolizeOptions sources; /* of find */
	const char
		*source_tree; /* of upload: a directory with source files; NULL: they are not stored */
	LogOptions log;
} DebuginfoOptions;

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t debuginfo_flags(DebuginfoOptions *options, Flag flags[DEBUGINFO_FLAGS_MAX]);

/*
 * The first operand says what to do with the others, which are paths: "upload" files, all below
 * directories, and container images; "extract" writes the bytes that an upload of one file would
 * send; "list" prints the uploads; "find" prints the debug information that exists for files or
 * build IDs.
 */
ExitCode debuginfo_run(const DebuginfoOptions *options, char **operands, size_t count);

#endif
