/*
 * regular_file.h
 *		Opens files that others choose, without waiting for anybody.
 */
#ifndef COLLECTOR_REGULAR_FILE_H
#define COLLECTOR_REGULAR_FILE_H

#include <stdio.h>

/*
 * Opens a regular file for reading. Returns NULL, with the reason in *problem, for any other kind
 * of file: opening a FIFO would block until somebody writes to it.
 */
FILE *regular_file_open(const char *path, const char **problem);

#endif
