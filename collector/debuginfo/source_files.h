/*
 * source_files.h
 *		Stores in the database the source files that debug information names, for source().
 */
#ifndef COLLECTOR_SOURCE_FILES_H
#define COLLECTOR_SOURCE_FILES_H

#include "debuginfo/source_batch.h"

/* A directory with source files. Only files inside it are read. */
typedef struct SourceTree
{
	int fd;		/* -1 if no directory is open */
	char *path; /* absolute path without symbolic links */
} SourceTree;

/* Opens a directory. Returns 0 or -errno. */
int source_tree_open(SourceTree *tree, const char *path);
void source_tree_close(SourceTree *tree);

/*
 * Stores the source files of a file with DWARF, and counts them. Each is searched by its path in
 * the debug information: below the tree's path; below the directory in which the compiler ran,
 * which then stands for the tree; or relative to the tree. Returns DB_REFUSED, with *error set,
 * also if memory is exhausted.
 */
DbOutcome source_files_store(Connection *connection, int fd, const char *build_id,
							 const SourceTree *tree, SourceCount *count, DbError *error);

#endif
