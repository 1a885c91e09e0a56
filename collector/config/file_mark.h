/*
 * file_mark.h
 *		Detects whether a file has changed. Links are followed, so this also notices a directory
 *		that is replaced as a whole, as Kubernetes does with mounted ConfigMaps.
 */
#ifndef COLLECTOR_FILE_MARK_H
#define COLLECTOR_FILE_MARK_H

#include <stdbool.h>
#include <sys/stat.h>

typedef struct FileMark
{
	struct timespec changed;
	ino_t inode;
	off_t size;
} FileMark;

/* Returns a zeroed mark if the file does not exist. */
static inline FileMark
file_mark(const char *path)
{
	struct stat info;

	if (stat(path, &info) != 0)
		return (FileMark){ .size = 0 };
	return (FileMark){ info.st_mtim, info.st_ino, info.st_size };
}

static inline bool
file_marks_equal(const FileMark *a, const FileMark *b)
{
	return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
		   a->inode == b->inode && a->size == b->size;
}

#endif
