/*
 * regular_file.c
 *		Opens regular files. Examines the open file rather than its path, because another file may
 *		replace the path at any time.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *
regular_file_open(const char *path, const char **problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	FILE *file = NULL;

	*problem = "not a regular file";
	if (fd < 0 || fstat(fd, &info) != 0)
		*problem = strerror(errno);
	else if (S_ISREG(info.st_mode) && (file = fdopen(fd, "r")) == NULL)
		*problem = strerror(errno);
	if (file == NULL && fd >= 0)
		close(fd);
	return file;
}

int
scratch_file_open_in(const char *directory)
{
	return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int
scratch_file_open(void)
{
	return scratch_file_open_in(P_tmpdir);
}
