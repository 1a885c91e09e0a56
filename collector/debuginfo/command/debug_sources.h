/*
 * debug_sources.h
 *		"debuginfo sources": source files of directories and archives, for profstore.source().
 */
#ifndef COLLECTOR_DEBUG_SOURCES_H
#define COLLECTOR_DEBUG_SOURCES_H

#include <stddef.h>

#include "program/failure.h"

typedef struct DebugSourcesOptions
{
	const char *build_id;	/* build whose code comes from the files; NULL: git_ref is given */
	const char *git_ref;	/* git reference that contains the files; NULL: build_id is given */
	const char *repository; /* repository of git_ref, as in label service_repository; NULL: any */
	const char *prefix;		/* directory that the files' paths are relative to; NULL: the default */
} DebugSourcesOptions;

/*
 * Stores the files of each path: a directory, a tar archive, also compressed, or "-" for an archive
 * on standard input. Prints how many are stored.
 */
ExitCode debug_sources(const char *database, const DebugSourcesOptions *options, char **paths,
					   size_t count, Failure *failure);

#endif
