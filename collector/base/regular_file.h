/*
 * regular_file.h
 *		Opens regular files whose names come from users, without blocking; creates files without a
 *		name, or with one that no other process knows.
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

/* Room for the name of a temporary file, with its terminating zero. */
#define TEMPORARY_NAME_BYTES 64

/*
 * Creates a file with the mode 0600 in an open directory, for writing, which will be renamed when
 * it is complete. Its name is random between prefix and suffix, because other processes, also of
 * other PID namespaces, may write to the directory, and other users may have made links there.
 * Returns a descriptor, or -errno.
 */
int temporary_file_create(int directory, const char *prefix, const char *suffix,
						  char name[TEMPORARY_NAME_BYTES]);

#endif
