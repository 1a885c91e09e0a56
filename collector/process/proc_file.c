/*
 * proc_file.c
 *		Reads /proc/PID/stat, statm, maps, exe and environ.
 */
#include "process/proc_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define READ_STEP_BYTES	 4096
#define STAT_LIMIT_BYTES 4096
#define PERMISSION_COUNT 4 /* "r-xp" */

/* Field numbers of /proc/PID/stat as in proc(5); the fields after the name start with 3. */
#define STAT_FIELD_PARENT	  4
#define STAT_FIELD_START_TIME 22
#define STAT_FIELD_ARG_START  48

/* The kernel's struct procmap_query (Linux 6.11), which older headers lack. */
typedef struct MapQuery
{
	uint64_t size; /* size of this structure */
	uint64_t flags;
	uint64_t address;
	uint64_t start; /* the lowest address asked for; the kernel's answer starts at the next field */
	uint64_t end;
	uint64_t vma_flags;
	uint64_t page_bytes;
	uint64_t file_offset;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
	/*
	 * Size of the buffer for the name; in the answer the length of the name with its NUL, 0 if the
	 * mapping has no name.
	 */
	uint32_t name_bytes;
	uint32_t build_id_bytes;
	uint64_t name;
	uint64_t build_id;
} MapQuery;

#define MAP_QUERY				 _IOWR('f', 17, MapQuery)
#define MAP_QUERY_EXECUTABLE	 0x04
#define MAP_QUERY_COVERS_OR_NEXT 0x10

static const char deleted_suffix[] = " (deleted)";

int
proc_file_read_from(int fd, size_t limit_bytes, char **text, size_t *length)
{
	size_t capacity = READ_STEP_BYTES;
	size_t used = 0;
	char *buffer = malloc(capacity + 1);
	int result = buffer == NULL ? -ENOMEM : 0;

	while (result == 0)
	{
		/* one byte of the buffer is left for the terminating zero */
		ssize_t got = read(fd, buffer + used, capacity - used);

		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			result = -errno;
		/* EINTR: the loop tries again; other errors end it by result */
		if (got <= 0)
			continue;
		used += (size_t) got;
		if (used > limit_bytes)
			result = -EFBIG;
		else if (used == capacity)
		{
			char *larger = realloc(buffer, 2 * capacity + 1);

			if (larger == NULL)
				result = -ENOMEM;
			else
			{
				buffer = larger;
				capacity *= 2;
			}
		}
	}
	if (result != 0)
	{
		free(buffer);
		return result;
	}
	buffer[used] = '\0';
	*text = buffer;
	if (length != NULL)
		*length = used;
	return 0;
}

int
proc_file_read(const char *path, size_t limit_bytes, char **text, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result;

	if (fd < 0)
		return -errno;
	result = proc_file_read_from(fd, limit_bytes, text, length);
	close(fd);
	return result;
}

int
proc_stat_parse(const char *text, ProcStat *stat)
{
	/* the name in parentheses may itself contain spaces and parentheses, so the last ')' ends it */
	const char *cursor = strrchr(text, ')');
	ProcStat parsed = { 0 };

	if (cursor == NULL)
		return -EINVAL;
	cursor++;
	for (int field = 3; field <= STAT_FIELD_ARG_START; field++)
	{
		char *end;
		uint64_t value;

		while (*cursor == ' ')
			cursor++;
		if (*cursor == '\0' || *cursor == '\n')
			return -EINVAL;
		errno = 0;
		/*
		 * Other fields may be negative or, such as the state, no number; their values are not used.
		 */
		value = strtoull(cursor, &end, 10);
		if (field == STAT_FIELD_PARENT || field == STAT_FIELD_START_TIME ||
			field == STAT_FIELD_ARG_START)
		{
			if (errno != 0 || end == cursor)
				return -EINVAL;
			if (field == STAT_FIELD_PARENT)
				parsed.parent_pid = (uint32_t) value;
			else if (field == STAT_FIELD_START_TIME)
				parsed.start_ticks = value;
			else
				parsed.arg_start = value;
		}
		while (*cursor != ' ' && *cursor != '\0')
			cursor++;
	}
	*stat = parsed;
	return 0;
}

int
proc_stat_read(uint32_t pid, ProcStat *stat)
{
	char path[64];
	char *text;
	int result;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	result = proc_file_read(path, STAT_LIMIT_BYTES, &text, NULL);
	if (result != 0)
		return result;
	result = proc_stat_parse(text, stat);
	free(text);
	return result;
}

/* Decodes the kernel's octal escapes of newline and backslash ("\012", "\134") in place. */
static void
maps_unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from != '\0';)
	{
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
			from[2] <= '7' && from[3] >= '0' && from[3] <= '7')
		{
			*to++ = (char) ((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		}
		else
			*to++ = *from++;
	}
	*to = '\0';
}

bool
proc_cut_deleted(char *name)
{
	size_t length = strlen(name);
	size_t suffix = sizeof(deleted_suffix) - 1;

	if (length <= suffix || strcmp(name + length - suffix, deleted_suffix) != 0)
		return false;
	name[length - suffix] = '\0';
	return true;
}

/* Parses a number that is followed by the character end, and advances past that character. */
static bool
proc_take_number(char **cursor, int base, char end, unsigned long long *number)
{
	char *stop;

	/* strtoull() would accept spaces and a sign */
	if (!isxdigit((unsigned char) **cursor))
		return false;
	errno = 0;
	*number = strtoull(*cursor, &stop, base);
	if (errno != 0 || *stop != end)
		return false;
	*cursor = stop + 1;
	return true;
}

/* Parses "start-end perms offset major:minor inode" and, if present, spaces and the name. */
int
proc_maps_parse_line(char *line, ProcMapping *mapping, bool *executable)
{
	unsigned long long start;
	unsigned long long end;
	unsigned long long offset;
	unsigned long long inode;
	unsigned long long major_number;
	unsigned long long minor_number;
	char *cursor = line;
	const char *permissions;

	if (!proc_take_number(&cursor, 16, '-', &start) || !proc_take_number(&cursor, 16, ' ', &end) ||
		start >= end || strcspn(cursor, " ") != PERMISSION_COUNT)
		return -EINVAL;
	permissions = cursor;
	cursor += PERMISSION_COUNT;
	if (*cursor++ != ' ' || !proc_take_number(&cursor, 16, ' ', &offset) ||
		!proc_take_number(&cursor, 16, ':', &major_number) ||
		!proc_take_number(&cursor, 16, ' ', &minor_number))
		return -EINVAL;
	if (!proc_take_number(&cursor, 10, ' ', &inode))
	{
		/* if the mapping has no name, the line may end after the inode */
		if (!proc_take_number(&cursor, 10, '\0', &inode))
			return -EINVAL;
		cursor--;
	}
	while (*cursor == ' ')
		cursor++;
	mapping->start = start;
	mapping->end = end;
	mapping->file_offset = offset;
	mapping->device = makedev((unsigned int) major_number, (unsigned int) minor_number);
	mapping->inode = (ino_t) inode;
	mapping->deleted = proc_cut_deleted(cursor);
	maps_unescape(cursor);
	mapping->name = cursor;
	*executable = permissions[2] == 'x';
	return 0;
}

int
proc_maps_query(int fd, uint64_t address, char *name, size_t name_bytes, ProcMapping *mapping)
{
	MapQuery query = { .size = sizeof(query),
					   .flags = MAP_QUERY_EXECUTABLE | MAP_QUERY_COVERS_OR_NEXT,
					   .address = address,
					   .name_bytes = (uint32_t) name_bytes,
					   .name = (uint64_t) (uintptr_t) name };

	if (ioctl(fd, MAP_QUERY, &query) != 0)
		return -errno;
	/* the kernel leaves the buffer as it is if there is no name */
	if (query.name_bytes == 0)
		name[0] = '\0';
	mapping->start = query.start;
	mapping->end = query.end;
	mapping->file_offset = query.file_offset;
	mapping->device = makedev(query.major, query.minor);
	mapping->inode = query.inode;
	mapping->deleted = proc_cut_deleted(name);
	mapping->name = name;
	return 0;
}

int
proc_exe_read(uint32_t pid, char *path, size_t size, bool *deleted)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	length = readlink(link, path, size - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	*deleted = proc_cut_deleted(path);
	return 0;
}

size_t
proc_private_bytes(uint32_t pid)
{
	char path[64];
	char *text;
	unsigned long resident_pages;
	unsigned long shared_pages;
	unsigned long pages = 0;

	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	if (proc_file_read(path, STAT_LIMIT_BYTES, &text, NULL) != 0)
		return 0;
	if (sscanf(text, "%*u %lu %lu", &resident_pages, &shared_pages) == 2 &&
		resident_pages > shared_pages)
		pages = resident_pages - shared_pages;
	free(text);
	return (size_t) pages * (size_t) sysconf(_SC_PAGESIZE);
}

/*
 * Removes empty strings, because an empty string marks the end of the list. text must have room for
 * one more byte.
 */
static void
drop_empty(char *text, size_t length)
{
	size_t kept = 0;

	for (size_t at = 0, bytes; at < length; at += bytes)
	{
		bytes = strlen(text + at) + 1;
		if (bytes == 1)
			continue;
		memmove(text + kept, text + at, bytes);
		kept += bytes;
	}
	text[kept] = '\0';
}

char *
proc_environment_read(uint32_t pid)
{
	char *text = malloc(PROC_ENVIRONMENT_BYTES + 2);
	size_t length = 0;
	ssize_t got = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = text == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && length < PROC_ENVIRONMENT_BYTES &&
		   (got = read(fd, text + length, PROC_ENVIRONMENT_BYTES - length)) > 0)
		length += (size_t) got;
	if (fd >= 0)
		close(fd);
	if (fd < 0 || got < 0)
	{
		free(text);
		return NULL;
	}
	/* A process may overwrite this memory at any time, so nothing is assumed about its content. */
	while (length > 0 && text[length - 1] != '\0')
		length--; /* drop an incomplete string */
	drop_empty(text, length);
	return text;
}

/* Returns true if the name of the variable is in names. */
static bool
has_wanted_name(const char *variable, const char *names)
{
	for (; *names != '\0'; names += strlen(names) + 1)
		if (strncmp(variable, names, strlen(names)) == 0 && variable[strlen(names)] == '=')
			return true;
	return false;
}

char *
proc_environment_filter(const char *variables, const char *names)
{
	char *wanted = NULL;
	size_t length;
	FILE *out = open_memstream(&wanted, &length);

	if (out == NULL)
		return NULL;
	for (const char *at = variables; *at != '\0'; at += strlen(at) + 1)
		if (has_wanted_name(at, names))
		{
			size_t name = (size_t) (strchr(at, '=') + 1 - at);

			fwrite(at, 1, name + strnlen(at + name, PROC_VALUE_BYTES), out);
			fputc('\0', out);
		}
	/* an empty string ends the list */
	fputc('\0', out);
	if (fclose(out) == 0)
		return wanted;
	free(wanted);
	return NULL;
}
