/*
 * code_files.c
 *		Finds the perf map and the jitdump of a process.
 */
#include "jit/code_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory.h"
#include "files/open_file.h"
#include "process/mapped_file.h"
#include "process/mapping_list.h"
#include "process/proc_file.h"

#define STATUS_LIMIT_BYTES 16384
#define DESCRIPTORS_MAX	   1024
#define ANCESTORS_MAX	   16
#define FILE_CLOCK_LATE_NS \
	INT64_C(100000000) /* start times of processes and times of files come from coarse clocks */

typedef struct ProcStatus
{
	uint32_t own_pid; /* pid of the process in its own pid namespace */
	uint32_t depth;	  /* number of pid namespaces from ours to the process's own, including both */
	uint32_t parent_pid;
	uint32_t user;
} ProcStatus;

/*
 * Parses the first and last number of a line of /proc/PID/status. Returns how many numbers the line
 * has.
 */
static uint32_t
status_numbers(const char *text, const char *key, uint32_t *first, uint32_t *last)
{
	const char *line = strstr(text, key);
	uint32_t count = 0;

	if (line == NULL)
		return 0;
	line += strlen(key);
	while (*line == '\t' || *line == ' ')
	{
		char *end;
		unsigned long parsed = strtoul(line, &end, 10);

		if (end == line)
			break;
		*last = (uint32_t) parsed;
		if (count++ == 0)
			*first = *last;
		line = end;
	}
	return count;
}

/* Reads /proc/PID/status. Returns 0 or -errno. */
static int
read_status(uint32_t pid, ProcStatus *status)
{
	uint32_t other;
	char path[64];
	char *text;
	int result;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	result = proc_file_read(path, STATUS_LIMIT_BYTES, &text, NULL);
	if (result != 0)
		return result;
	status->depth = status_numbers(text, "\nNSpid:", &other, &status->own_pid);
	if (status->depth == 0 || status_numbers(text, "\nUid:", &status->user, &other) == 0 ||
		status_numbers(text, "\nPPid:", &status->parent_pid, &other) == 0)
		result = -EINVAL;
	free(text);
	return result;
}

/*
 * Returns true if the file was last written during the process's life. Compares ages rather than
 * times, because the clock may have been set since.
 */
static bool
is_of_lifetime(uint32_t pid, const struct stat *status)
{
	int64_t ago_ns;
	int64_t age_ns;
	ProcStat stat;

	if (proc_stat_read(pid, &stat) != 0)
		return false;
	ago_ns = clock_ns(CLOCK_REALTIME) - status->st_mtim.tv_sec * NS_PER_S - status->st_mtim.tv_nsec;
	age_ns = clock_ns(CLOCK_BOOTTIME) -
			 (int64_t) stat.start_ticks * (NS_PER_S / (int64_t) sysconf(_SC_CLK_TCK));
	return ago_ns <= age_ns + FILE_CLOCK_LATE_NS;
}

/*
 * Opens the root directory of the process that created a process's pid namespace; if that process
 * has exited, our own root.
 */
static int
open_outer_root(const ProcStatus *inner)
{
	ProcStatus status = *inner;
	int root = -ENOENT;

	for (int i = 0; i < ANCESTORS_MAX && root < 0; i++)
	{
		uint32_t pid = status.parent_pid;

		if (pid == 0 || read_status(pid, &status) != 0)
			break;
		if (status.depth < inner->depth)
			root = open_root(pid);
	}
	return root >= 0 ? root : open_root(0);
}

/*
 * Returns true if processes of the outer pid namespace see the file, too: then another process may
 * have the pid in the file's name.
 */
static bool
is_shared(const ProcStatus *process, const char *path, const struct stat *status)
{
	struct stat found;
	int root;
	int fd;

	if (process->depth <= 1)
		return false;
	root = open_outer_root(process);
	if (root < 0)
		return false;
	fd = open_file_inside(root, path, &found);
	close(root);
	if (fd < 0)
		return false;
	close(fd);
	return found.st_dev == status->st_dev && found.st_ino == status->st_ino;
}

/*
 * Returns true if the process has the file open for writing under a path that ends with the given
 * one. Checks the first DESCRIPTORS_MAX descriptors. If they cannot be read, the file is not
 * trusted, and counts as refused.
 */
static bool
holds_open(uint32_t pid, const char *path, const struct stat *status)
{
	const struct dirent *entry;
	bool found = false;
	char name[PATH_MAX];
	int left = DESCRIPTORS_MAX;
	DIR *directory;

	snprintf(name, sizeof(name), "/proc/%u/fd", pid);
	if (directory_open(AT_FDCWD, name, &directory) != 0)
		return false;
	while (!found && left-- > 0 && directory_next(directory, &entry) == 0 && entry != NULL)
	{
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, name, sizeof(name));
		size_t wanted = strlen(path);
		struct stat held;

		/* skip other files without a stat() of them, because their file systems might not answer */
		if (length < (ssize_t) wanted || memcmp(name + length - wanted, path, wanted) != 0 ||
			fstatat(dirfd(directory), entry->d_name, &held, AT_SYMLINK_NOFOLLOW) != 0 ||
			!(held.st_mode & S_IWUSR))
			continue;
		found = fstatat(dirfd(directory), entry->d_name, &held, 0) == 0 &&
				held.st_dev == status->st_dev && held.st_ino == status->st_ino;
	}
	closedir(directory);
	return found;
}

int
code_files_open_map(uint32_t pid, struct stat *status)
{
	ProcStatus process;
	char path[64];
	int result = read_status(pid, &process);
	int root;
	int fd;

	if (result != 0)
		return result;
	root = open_root(pid);
	if (root < 0)
		return root;
	/* A runtime knows its pid only in its own namespace, and names the file by that. */
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", process.own_pid);
	fd = open_file_inside(root, path, status);
	close(root);
	if (fd < 0)
		return fd;
	/*
	 * Any user can write to /tmp, so the owner and the time must fit, or the process must hold the
	 * file.
	 */
	if ((status->st_uid == process.user || status->st_uid == 0) &&
		((is_of_lifetime(pid, status) && !is_shared(&process, path, status)) ||
		 holds_open(pid, path, status)))
		return fd;
	close(fd);
	return -EPERM;
}

/* Returns the mapping of a file with this name; NULL if there is none. */
static const ProcMapping *
mapping_find_named(const MappingList *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
	{
		const ProcMapping *map = &list->mappings[i].map;
		const char *slash = strrchr(map->name, '/');

		if (list->mappings[i].kind == MAPPING_FILE && slash != NULL && strcmp(slash + 1, name) == 0)
			return map;
	}
	return NULL;
}

int
code_files_open_dump(uint32_t pid, struct stat *status)
{
	const ProcMapping *found;
	MappingList list;
	ProcStatus process;
	char name[32];
	int result = read_status(pid, &process);

	if (result != 0)
		return result;
	/* perf's convention makes the process map the file, so a dump can be at any path. */
	snprintf(name, sizeof(name), "jit-%" PRIu32 ".dump", process.own_pid);
	result = mapping_list_read(pid, MAPPINGS_MAX, &list);
	if (result == 0)
	{
		found = mapping_find_named(&list, name);
		result = found != NULL ? mapped_file_open(pid, found, status) : -ENOENT;
	}
	mapping_list_release(NULL, &list);
	return result;
}
