/*
 * file_list.h
 *		The files that an import was asked for: operands, and what lies in directories among them.
 */
#ifndef COLLECTOR_FILE_LIST_H
#define COLLECTOR_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

/* Zeroed: empty. */
typedef struct FileList
{
	char **paths; /* the list's own */
	size_t count;
	size_t capacity;
	size_t left_out; /* files in directories that the pattern does not fit */
} FileList;

/*
 * Adds an operand: a file as it is, of a directory all files below it in the order of their names,
 * but those whose names begin with a dot and those that do not fit the pattern (NULL: all fit).
 * EXIT_OK, or EXIT_IO or EXIT_INTERNAL with *failure.
 */
ExitCode file_list_add(FileList *list, const char *operand, const char *pattern, Failure *failure);

/*
 * Takes those out that an import has told as stored: file has its standard output, "PATH: …" a
 * line. *skipped tells how many. EXIT_OK, or EXIT_IO or EXIT_INTERNAL with *failure.
 */
ExitCode file_list_skip(FileList *list, const char *file, size_t *skipped, Failure *failure);

void file_list_free(FileList *list);

#endif
