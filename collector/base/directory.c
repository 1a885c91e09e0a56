/*
 * directory.c
 *		Reads directories, and reports failures of readdir().
 */
#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int
directory_open(int at, const char *path, DIR **directory)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	*directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (*directory != NULL)
		return 0;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int
directory_next(DIR *directory, const struct dirent **entry)
{
	/* readdir() sets errno only on failure */
	errno = 0;
	*entry = readdir(directory);
	return *entry == NULL ? -errno : 0;
}

int
directory_check(const char *path)
{
	const struct dirent *entry;
	DIR *directory;
	int err = directory_open(AT_FDCWD, path, &directory);

	if (err != 0)
		return err;
	do
		err = directory_next(directory, &entry);
	while (err == 0 && entry != NULL);
	closedir(directory);
	return err;
}

int
directory_check_entered(const FTSENT *entry)
{
	if (entry->fts_level > FTS_ROOTLEVEL &&
		entry->fts_statp->st_dev != entry->fts_parent->fts_statp->st_dev)
		return 0;
	return directory_check(entry->fts_path);
}
