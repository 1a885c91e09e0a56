/*
 * source_files.h
 *		Text of the source files that debug information names, into the database, for source().
 */
#ifndef COLLECTOR_SOURCE_FILES_H
#define COLLECTOR_SOURCE_FILES_H

#include <stdint.h>

#include "database/connection.h"

/* A directory with source files. Only files inside of it are read. */
typedef struct SourceTree
{
	int fd;		/* -1 if no directory is open */
	char *path; /* absolute, without links */
} SourceTree;

/* Opens a directory. Returns 0 or -errno. */
int source_tree_open(SourceTree *tree, const char *path);
void source_tree_close(SourceTree *tree);

typedef struct SourceCount
{
	uint64_t stored;
	uint64_t missing; /* not in the tree, too large, or no text */
} SourceCount;

/*
 * Stores the source files of a file with DWARF, and counts them. A file is found by its path in the
 * debug information: below the tree's path, below the directory in which the compiler ran, which
 * then stands for the tree, or relative to the tree. DB_REFUSED, with *error set, also if memory is
 * out.
 */
DbOutcome source_files_store(Connection *connection, int fd, const char *build_id,
							 const SourceTree *tree, SourceCount *count, DbError *error);

#endif
