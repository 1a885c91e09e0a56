/*
 * regular_file.c
 *		Opens regular files. Examines the open file rather than its path, because another file may
 *		replace the path at any time.
 */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
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

int
temporary_file_create(int directory, const char *prefix, const char *suffix,
					  char name[TEMPORARY_NAME_BYTES])
{
	uint64_t random;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
		return -EAGAIN;
	if (snprintf(name, TEMPORARY_NAME_BYTES, "%s%016" PRIx64 "%s", prefix, random, suffix) >=
		TEMPORARY_NAME_BYTES)
		return -ENAMETOOLONG;
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}
