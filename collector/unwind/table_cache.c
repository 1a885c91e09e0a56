/*
 * table_cache.c
 *		Files of unwind tables, and which of them go.
 */
#include "unwind/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"

#define SUFFIX		   ".unwind"
#define NAME_BYTES	   256
#define MAX_FILE_BYTES ((size_t) 64 * 1024 * 1024) /* more than the kernel's tables hold */

struct TableCache
{
	int directory;
	size_t limit_bytes;
	uint64_t bytes; /* of our files, as far as we know: others may write here too */
	uint32_t serial;
};

/* One of our files. */
typedef struct Cached
{
	char name[NAME_BYTES];
	uint64_t bytes;
	struct timespec used;
} Cached;

typedef struct CachedList
{
	Cached *items;
	size_t count;
	size_t capacity;
} CachedList;

static bool
is_ours(const char *name)
{
	size_t length = strlen(name);
	size_t suffix = sizeof(SUFFIX) - 1;

	return length > suffix && length < NAME_BYTES && strcmp(name + length - suffix, SUFFIX) == 0;
}

static int
list_files(const TableCache *cache, CachedList *list)
{
	int fd = openat(cache->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int err = 0;

	if (directory == NULL)
	{
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (err == 0 && (entry = readdir(directory)) != NULL)
	{
		struct stat status;

		if (!is_ours(entry->d_name) ||
			fstatat(cache->directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISREG(status.st_mode))
			continue;
		err = grow_array(&list->items, &list->capacity, list->count, sizeof(Cached));
		if (err == 0)
		{
			Cached *cached = &list->items[list->count++];

			snprintf(cached->name, sizeof(cached->name), "%s", entry->d_name);
			cached->bytes = (uint64_t) status.st_size;
			cached->used = status.st_mtim;
		}
	}
	closedir(directory);
	return err;
}

static int
compare_use(const void *left, const void *right)
{
	const struct timespec *a = &((const Cached *) left)->used;
	const struct timespec *b = &((const Cached *) right)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Counts what is there; where that is too much, makes room for the next files as well. */
static int
evict(TableCache *cache)
{
	CachedList list = { 0 };
	int err = list_files(cache, &list);

	cache->bytes = 0;
	for (size_t i = 0; i < list.count; i++)
		cache->bytes += list.items[i].bytes;
	if (cache->bytes > cache->limit_bytes)
		qsort(list.items, list.count, sizeof(Cached), compare_use);
	if (cache->bytes > cache->limit_bytes)
	{
		uint64_t target = cache->limit_bytes / 4 * 3;

		for (size_t i = 0; i < list.count && cache->bytes > target; i++)
		{
			if (unlinkat(cache->directory, list.items[i].name, 0) == 0)
				cache->bytes -= list.items[i].bytes;
		}
	}
	free(list.items);
	return err;
}

int
table_cache_open(const char *directory, size_t limit_bytes, TableCache **result)
{
	TableCache *cache = calloc(1, sizeof(*cache));
	struct stat status;
	int err = 0;

	if (cache == NULL)
		return -ENOMEM;
	cache->limit_bytes = limit_bytes;
	cache->directory = -1;
	if (mkdir(directory, 0700) != 0 && errno != EEXIST)
		err = -errno;
	else
	{
		cache->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cache->directory < 0 || fstat(cache->directory, &status) != 0)
			err = -errno;
		else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
			err = -EPERM;
		else
			err = evict(cache);
	}
	if (err != 0)
	{
		table_cache_close(cache);
		return err;
	}
	*result = cache;
	return 0;
}

void
table_cache_close(TableCache *cache)
{
	if (cache == NULL)
		return;
	if (cache->directory >= 0)
		close(cache->directory);
	free(cache);
}

/* Build IDs are hexadecimal, as this checks: the name never leaves the directory. */
static int
file_name(const char *build_id, char name[NAME_BYTES])
{
	size_t length = strspn(build_id, "0123456789abcdef");

	if (length == 0 || build_id[length] != '\0' || length + sizeof(SUFFIX) > NAME_BYTES / 2)
		return -EINVAL;
	snprintf(name, NAME_BYTES, "%s" SUFFIX, build_id);
	return 0;
}

/* All of a file, which may change its length meanwhile. */
static int
read_all(int fd, uint8_t **bytes, size_t *length)
{
	struct stat status;
	ssize_t got;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size <= 0 ||
		(uint64_t) status.st_size > MAX_FILE_BYTES)
		return -EBADMSG;
	*bytes = malloc((size_t) status.st_size);
	if (*bytes == NULL)
		return -ENOMEM;
	got = pread(fd, *bytes, (size_t) status.st_size, 0);
	if (got == status.st_size)
	{
		*length = (size_t) got;
		return 0;
	}
	free(*bytes);
	return -EBADMSG;
}

int
table_cache_load(TableCache *cache, const char *build_id, const CfiInput *input, RuleSet *rules,
				 PackedTable *packed, CfiStats *stats)
{
	char name[NAME_BYTES];
	uint8_t *bytes = NULL;
	size_t length = 0;
	int err = file_name(build_id, name);
	int fd;

	if (err != 0)
		return err;
	fd = openat(cache->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_all(fd, &bytes, &length);
	if (err == 0)
	{
		err = table_file_decode(bytes, length, input, rules, packed, stats);
		free(bytes);
	}
	if (err == 0)
		(void) futimens(fd, NULL); /* used now: where it cannot be noted it goes earlier */
	close(fd);
	return err;
}

static int
write_all(int fd, const uint8_t *bytes, size_t length)
{
	while (length > 0)
	{
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0)
		{
			bytes += written;
			length -= (size_t) written;
		}
	}
	return 0;
}

/*
 * A file that is there wholly or not at all; after a crash its checksum tells whether its bytes
 * reached the disk.
 */
static int
write_file(TableCache *cache, const char *name, const uint8_t *bytes, size_t length)
{
	char fresh[NAME_BYTES];
	int err;
	int fd;

	snprintf(fresh, sizeof(fresh), "new-%ld-%u" SUFFIX, (long) getpid(), cache->serial++);
	(void) unlinkat(cache->directory, fresh, 0);
	fd =
		openat(cache->directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes, length);
	if (close(fd) != 0 && err == 0)
		err = -errno;
	if (err == 0 && renameat(cache->directory, fresh, cache->directory, name) != 0)
		err = -errno;
	if (err != 0)
		(void) unlinkat(cache->directory, fresh, 0);
	return err;
}

int
table_cache_store(TableCache *cache, const char *build_id, const CfiInput *input,
				  const RuleSet *rules, const PackedTable *packed, const CfiStats *stats)
{
	char name[NAME_BYTES];
	uint8_t *bytes;
	size_t length;
	int err = file_name(build_id, name);

	if (err == 0)
		err = table_file_encode(input, rules, packed, stats, &bytes, &length);
	if (err != 0)
		return err;
	err = length > MAX_FILE_BYTES ? -EFBIG : write_file(cache, name, bytes, length);
	free(bytes);
	if (err != 0)
		return err;
	cache->bytes += length;
	return cache->bytes > cache->limit_bytes ? evict(cache) : 0;
}
