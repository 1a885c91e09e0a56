/*
 * file_list.h
 *		The files to import: those that are operands, and those below directories that are.
 */
#ifndef COLLECTOR_FILE_LIST_H
#define COLLECTOR_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "program/failure.h"

/* A zeroed list is empty. */
typedef struct FileList
{
	char **paths; /* owned by the list */
	size_t count;
	size_t capacity;
	size_t left_out; /* number of files below directories that do not match the pattern */
} FileList;

/*
 * Adds an operand: a file; or all files below a directory, sorted by name, except those whose names
 * begin with a dot and those that do not match the pattern (NULL matches all). Returns EXIT_OK;
 * otherwise EXIT_IO or EXIT_INTERNAL with *failure set.
 */
ExitCode file_list_add(FileList *list, const char *operand, const char *pattern, Failure *failure);

/*
 * Removes the files that an earlier import has stored: file contains its standard output, lines of
 * "PATH: …". *skipped is their number. Returns EXIT_OK; otherwise EXIT_IO or EXIT_INTERNAL with
 * *failure set.
 */
ExitCode file_list_skip(FileList *list, const char *file, size_t *skipped, Failure *failure);

void file_list_free(FileList *list);

#endif
