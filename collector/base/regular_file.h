/*
 * regular_file.h
 *		Opens files named by users without blocking, and files without a name.
 */
#ifndef COLLECTOR_REGULAR_FILE_H
#define COLLECTOR_REGULAR_FILE_H

#include <stdio.h>

/*
 * Opens a regular file for reading. Returns NULL, with the reason in *problem, if that fails or it
 * is another kind of file: opening a FIFO would block until another process writes to it.
 */
FILE *regular_file_open(const char *path, const char **problem);

/*
 * Opens a new file without a name, for reading and writing: in the directory of temporary files, or
 * in another one. Returns a descriptor; -1 with errno.
 */
int scratch_file_open(void);
int scratch_file_open_in(const char *directory);

#endif
