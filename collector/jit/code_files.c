/*
 * code_files.c
 *		Finds a process's perf map and its jitdump.
 */
#include "jit/code_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/open_file.h"
#include "process/mapped_file.h"
#include "process/mapping_list.h"
#include "process/proc_file.h"

#define STATUS_LIMIT_BYTES 16384

/* The last number of a line of /proc/PID/status, or its first one. */
static bool
status_number(const char *text, const char *key, bool last, uint32_t *number)
{
	const char *line = strstr(text, key);
	bool found = false;

	if (line == NULL)
		return false;
	line += strlen(key);
	while (*line == '\t' || *line == ' ')
	{
		char *end;
		unsigned long parsed = strtoul(line, &end, 10);

		if (end == line)
			break;
		*number = (uint32_t) parsed;
		found = true;
		if (!last)
			break;
		line = end;
	}
	return found;
}

/* Its number in its own namespace, and whose it is. */
static int
read_status(uint32_t pid, uint32_t *own_pid, uint32_t *user)
{
	char path[64];
	char *text;
	int result;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	result = proc_file_read(path, STATUS_LIMIT_BYTES, &text, NULL);
	if (result != 0)
		return result;
	if (!status_number(text, "\nNSpid:", true, own_pid) ||
		!status_number(text, "\nUid:", false, user))
		result = -EINVAL;
	free(text);
	return result;
}

int
code_files_open_map(uint32_t pid, struct stat *status)
{
	uint32_t own_pid;
	uint32_t user;
	char path[64];
	int result = read_status(pid, &own_pid, &user);
	int root;
	int fd;

	if (result != 0)
		return result;
	root = open_root(pid);
	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", own_pid);
	fd = open_file_inside(root, path, status);
	close(root);
	if (fd < 0 || status->st_uid == user || status->st_uid == 0)
		return fd;
	close(fd);
	return -EPERM;
}

/* The mapping of a file of that name, or NULL. */
static const ProcMapping *
find_named(const MappingList *list, const char *name)
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
	uint32_t own_pid;
	uint32_t user;
	char name[32];
	int result = read_status(pid, &own_pid, &user);

	if (result != 0)
		return result;
	snprintf(name, sizeof(name), "jit-%" PRIu32 ".dump", own_pid);
	result = mapping_list_read(pid, MAPPINGS_MAX, &list);
	if (result == 0)
	{
		found = find_named(&list, name);
		result = found != NULL ? mapped_file_open(pid, found, status) : -ENOENT;
	}
	mapping_list_release(NULL, &list);
	return result;
}
