/*
 * directory.h
 *		Reads directories, so that a directory whose reading fails is not taken for an empty or a
 *		short one.
 *
 * readdir() returns NULL at the end and on failure, and fts_read() of glibc ignores failures of
 * readdir().
 */
#ifndef COLLECTOR_DIRECTORY_H
#define COLLECTOR_DIRECTORY_H

#include <dirent.h>
#include <fts.h>

/*
 * Opens a directory by a path, which is relative to the descriptor of another directory or to
 * AT_FDCWD. Returns 0 or -errno. closedir() closes it, and leaves the other descriptor open.
 */
int directory_open(int at, const char *path, DIR **directory);

/*
 * Reads the next entry; *entry is NULL at the end. The entry is valid until the next call. Returns
 * 0 or -errno. A directory that was removed, or whose process has ended, has no more entries.
 */
int directory_next(DIR *directory, const struct dirent **entry);

/*
 * Reads a directory to its end. Returns 0 or -errno. Call it for each FTS_D of an fts_read() that
 * enters the directory.
 */
int directory_check(const char *path);

/*
 * Like directory_check(), but for an FTS_D of a walk with FTS_XDEV, which does not enter mount
 * points: returns 0 for these without reading them, because their file systems may not answer.
 */
int directory_check_entered(const FTSENT *entry);

#endif
