/*
 * library_copy.c
 *		Finds libprofstore-gpu.so beside this program, and copies it.
 */
#include "gpu/library_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_directory.h"
#include "base/child.h"
#include "base/regular_file.h"

#define CHUNK_BYTES 65536

size_t
gpu_library_flags(GpuLibraryOptions *options, Flag flags[GPU_LIBRARY_FLAGS_MAX])
{
	const Flag own[] = {
		{ "copy-to", FLAG_TEXT, &options->copy_to, "DIRECTORY",
		  "copy the library to this directory, such as a volume that programs mount; default: "
		  "print its path" },
	};
	size_t count;

	*options = (GpuLibraryOptions){ 0 };
	count = flags_append(flags, 0, own, sizeof(own) / sizeof(own[0]));
	return count + log_flags(&options->log, &flags[count]);
}

/* Copies all bytes that follow in source. Returns 0 or -errno. */
static int
library_copy_bytes(int source, int target)
{
	uint8_t bytes[CHUNK_BYTES];
	int err = 0;

	while (err == 0)
	{
		ssize_t got = read(source, bytes, sizeof(bytes));

		if (got == 0)
			break;
		if (got > 0)
			err = cache_file_write(target, bytes, (size_t) got);
		else if (errno != EINTR)
			err = -errno;
	}
	return err;
}

/*
 * Writes the library to a new file, so that commands that run at the same time do not write to one
 * file. The file is removed if that fails. Returns 0 or -errno.
 */
static int
library_write_temporary(int source, int directory, char name[TEMPORARY_NAME_BYTES])
{
	int fd = temporary_file_create(directory, "." GPU_LIBRARY_FILE ".", "", name);
	int err;

	if (fd < 0)
		return fd;
	err = library_copy_bytes(source, fd);
	/* programs of other users load the library, whatever the umask is */
	if (err == 0 && fchmod(fd, 0644) != 0)
		err = -errno;
	/* a full volume may refuse the bytes only now; after a crash the name must not lack them */
	if (err == 0 && fsync(fd) != 0)
		err = -errno;
	if (close(fd) != 0 && err == 0)
		err = -errno;
	if (err != 0)
		(void) unlinkat(directory, name, 0);
	return err;
}

/* Fills in why the copy in a directory could not be made. */
static ExitCode
library_not_copied(const char *directory, int err, Failure *failure)
{
	failure_set(failure, EXIT_IO, "could not copy the GPU library");
	failure_detail(failure, "\"%s/" GPU_LIBRARY_FILE "\": %s.", directory, strerror(-err));
	if (err == -ENOSPC || err == -EDQUOT)
		failure_hint(failure, "Free space in the volume, or raise its size limit.");
	else if (err == -EACCES || err == -EPERM || err == -EROFS)
		failure_hint(failure, "Mount the volume so that this user can write to it.");
	else if (err == -EISDIR)
		failure_hint(failure, "Remove the directory of this name.");
	return failure->code;
}

/* Opens the library's file. Returns a descriptor; -1 with the failure filled in. */
static int
library_open(const char *source, Failure *failure)
{
	int fd = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	const char *problem = NULL;

	if (fd < 0 || fstat(fd, &status) != 0)
		problem = strerror(errno);
	else if (!S_ISREG(status.st_mode))
		problem = "It is not a regular file";
	if (problem == NULL)
		return fd;
	failure_of_file(failure, "could not open the GPU library", source, problem);
	if (fd >= 0)
		close(fd);
	return -1;
}

ExitCode
gpu_library_copy(const char *source, const char *directory, Failure *failure)
{
	char temporary[TEMPORARY_NAME_BYTES];
	int target = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int library;
	int err;

	if (target < 0)
		return failure_of_file(failure, "could not open the directory of the copy", directory,
							   strerror(errno));
	library = library_open(source, failure);
	if (library < 0)
	{
		close(target);
		return failure->code;
	}
	err = library_write_temporary(library, target, temporary);
	if (err == 0 && renameat(target, temporary, target, GPU_LIBRARY_FILE) != 0)
	{
		err = -errno;
		(void) unlinkat(target, temporary, 0);
	}
	close(library);
	close(target);
	return err == 0 ? EXIT_OK : library_not_copied(directory, err, failure);
}

/*
 * Finds the library: where "make install-collector" and packages put it, or beside this program in
 * a build tree.
 */
static bool
library_find(char path[PATH_MAX])
{
	static const char *const places[] = { "../lib/profstore/" GPU_LIBRARY_FILE, GPU_LIBRARY_FILE };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
	{
		char place[PATH_MAX];

		if (child_path(places[i], place, sizeof(place)) && realpath(place, path) != NULL)
			return true;
	}
	return false;
}

ExitCode
gpu_library_run(const GpuLibraryOptions *options)
{
	char path[PATH_MAX];
	Failure failure;
	ExitCode code = EXIT_OK;

	if (!library_find(path))
	{
		code = failure_set(&failure, EXIT_IO, "could not find the GPU library");
		failure_hint(&failure, "Install " GPU_LIBRARY_FILE
							   " in ../lib/profstore from the directory of this executable.");
	}
	else if (options->copy_to != NULL)
		code = gpu_library_copy(path, options->copy_to, &failure);
	if (code != EXIT_OK)
		failure_log(&failure, "gpu-library");
	else if (options->copy_to != NULL)
		printf("%s/" GPU_LIBRARY_FILE "\n", options->copy_to);
	else
		printf("%s\n", path);
	return code;
}
