/*
 * debuginfo.h
 *		The sub-command "debuginfo": stores debug information in the database, for "symbolize".
 *
 * Builds have debug information, production machines do not. So a build uploads it, under the build
 * ID, and then strips the files that it delivers.
 */
#ifndef COLLECTOR_DEBUGINFO_H
#define COLLECTOR_DEBUGINFO_H

#include <stddef.h>

#include "debuginfo/command/debug_sources.h"
#include "symbolize/symbolize_options.h"

#define DEBUGINFO_FLAGS_MAX 20

typedef struct DebuginfoOptions
{
	const char *database;	  /* libpq connection string */
	const char *output;		  /* name of the file that the action "extract" writes */
	SymbolizeOptions sources; /* flags of the action "find" */
	const char *source_tree;  /* directory with source files, for "upload"; NULL: none are stored */
	DebugSourcesOptions origin; /* flags of the action "sources" */
	LogOptions log;
} DebuginfoOptions;

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t debuginfo_flags(DebuginfoOptions *options, Flag flags[DEBUGINFO_FLAGS_MAX]);

/*
 * The first operand is the action, the others are paths: "upload" stores files, all files below
 * directories, and container images; "extract" writes the bytes that an upload of one file would
 * send; "sources" stores source files of directories and archives; "list" prints the uploads;
 * "find" prints the debug information that exists for files or build IDs.
 */
ExitCode debuginfo_run(const DebuginfoOptions *options, char **operands, size_t count);

#endif
