/*
 * regular_file.h
 *		Opens regular files whose names come from users, without blocking; creates files without a
 *		name.
 */
#ifndef COLLECTOR_REGULAR_FILE_H
#define COLLECTOR_REGULAR_FILE_H

#include <stdio.h>

/*
 * Opens a regular file for reading. Returns NULL, with the reason in *problem, if that fails or the
 * path names another kind of file: opening a FIFO, for example, would block until another process
 * writes to it.
 */
FILE *regular_file_open(const char *path, const char **problem);

/*
 * Create a file without a name, open for reading and writing: in the directory of temporary files,
 * or in the given one. Return a descriptor; -1 with errno set.
 */
int scratch_file_open(void);
int scratch_file_open_in(const char *directory);

#endif
