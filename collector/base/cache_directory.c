/*
 * cache_directory.c
 *		Files of a cache directory and their eviction.
 */
#include "base/cache_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/grow.h"
#include "base/read_at.h"
#include "base/regular_file.h"

#define NAME_BYTES 256
#define USED_S	   3600 /* a file that was used this recently keeps its time of use */

struct CacheDirectory
{
	int fd;
	const char *suffix;
	size_t limit_bytes;
	/*
	 * total size of the cache's files; an estimate, because other processes may write to the
	 * directory
	 */
	uint64_t bytes;
	char made[TEMPORARY_NAME_BYTES]; /* name of the new file */
};

/* A file of the cache. */
typedef struct Cached
{
	char name[NAME_BYTES];
	size_t owner_length; /* length of the owner's part of the name */
	uint64_t bytes;
	struct timespec used;
} Cached;

typedef struct CachedList
{
	Cached *items;
	size_t count;
	size_t capacity;
} CachedList;

/* The files of one owner. They are adjacent in the sorted list, least recently used first. */
typedef struct OwnerFiles
{
	size_t next; /* index of the oldest file that was not removed yet */
	uint64_t bytes;
} OwnerFiles;

static bool
cache_owns(const CacheDirectory *cache, const char *name)
{
	size_t length = strlen(name);
	size_t suffix = strlen(cache->suffix);

	return length > suffix && length < NAME_BYTES &&
		   strcmp(name + length - suffix, cache->suffix) == 0;
}

/*
 * Lists the regular files that have the cache's suffix. Skips a file that cannot be examined,
 * because another process may have removed it since readdir().
 */
static int
cache_list_files(const CacheDirectory *cache, CachedList *list)
{
	const struct dirent *entry;
	DIR *directory;
	int err = directory_open(cache->fd, ".", &directory);

	if (err != 0)
		return err;
	while (err == 0 && (err = directory_next(directory, &entry)) == 0 && entry != NULL)
	{
		struct stat status;

		if (!cache_owns(cache, entry->d_name) ||
			fstatat(cache->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
			!S_ISREG(status.st_mode))
			continue;
		err = grow_array(&list->items, &list->capacity, list->count, sizeof(Cached));
		if (err == 0)
		{
			Cached *cached = &list->items[list->count++];
			const char *mark = strchr(entry->d_name, '-');

			snprintf(cached->name, sizeof(cached->name), "%s", entry->d_name);
			cached->owner_length = mark != NULL ? (size_t) (mark - entry->d_name) : 0;
			cached->bytes = (uint64_t) status.st_size;
			cached->used = status.st_mtim;
		}
	}
	closedir(directory);
	return err;
}

static int
cached_compare_owners(const Cached *a, const Cached *b)
{
	if (a->owner_length != b->owner_length)
		return a->owner_length < b->owner_length ? -1 : 1;
	return memcmp(a->name, b->name, a->owner_length);
}

/* Orders by owner, then by time of last use. */
static int
cached_compare(const void *left, const void *right)
{
	const Cached *a = left;
	const Cached *b = right;
	int owners = cached_compare_owners(a, b);

	if (owners != 0)
		return owners;
	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/*
 * Removes files until their total size is below target: each time the oldest one of the owner with
 * the most bytes.
 */
static void
cache_remove_files(CacheDirectory *cache, const CachedList *list, OwnerFiles *owners,
				   uint64_t target)
{
	size_t owner_count = 0;

	for (size_t i = 0; i < list->count; i++)
	{
		if (i == 0 || cached_compare_owners(&list->items[i - 1], &list->items[i]) != 0)
			owners[owner_count++] = (OwnerFiles){ .next = i };
		owners[owner_count - 1].bytes += list->items[i].bytes;
	}
	for (size_t removed = 0; removed < list->count && cache->bytes > target; removed++)
	{
		OwnerFiles *most = &owners[0];
		const Cached *oldest;

		for (size_t i = 1; i < owner_count; i++)
			most = owners[i].bytes > most->bytes ? &owners[i] : most;
		oldest = &list->items[most->next++];
		most->bytes -= oldest->bytes;
		if (unlinkat(cache->fd, oldest->name, 0) == 0)
			cache->bytes -= oldest->bytes;
	}
}

/*
 * Counts the bytes of all files. If they exceed the limit, removes files down to three quarters of
 * it, so that not every new file causes a removal.
 */
static int
cache_evict(CacheDirectory *cache)
{
	CachedList list = { 0 };
	OwnerFiles *owners = NULL;
	int err = cache_list_files(cache, &list);

	cache->bytes = 0;
	for (size_t i = 0; i < list.count; i++)
		cache->bytes += list.items[i].bytes;
	if (cache->bytes > cache->limit_bytes)
	{
		qsort(list.items, list.count, sizeof(Cached), cached_compare);
		owners = calloc(list.count, sizeof(*owners));
		if (owners != NULL)
			cache_remove_files(cache, &list, owners, cache->limit_bytes / 4 * 3);
		else
			err = -ENOMEM;
	}
	free(owners);
	free(list.items);
	return err;
}

int
cache_directory_open(const char *path, const char *suffix, size_t limit_bytes,
					 CacheDirectory **result)
{
	CacheDirectory *cache = calloc(1, sizeof(*cache));
	struct stat status;
	int err = 0;

	if (cache == NULL)
		return -ENOMEM;
	cache->suffix = suffix;
	cache->limit_bytes = limit_bytes;
	cache->fd = -1;
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		err = -errno;
	else
	{
		cache->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cache->fd < 0 || fstat(cache->fd, &status) != 0)
			err = -errno;
		else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
			err = -EPERM;
		else
			err = cache_evict(cache);
	}
	if (err != 0)
	{
		cache_directory_close(cache);
		return err;
	}
	*result = cache;
	return 0;
}

void
cache_directory_close(CacheDirectory *cache)
{
	if (cache == NULL)
		return;
	if (cache->fd >= 0)
		close(cache->fd);
	free(cache);
}

/*
 * Sets the file's time of use unless it is recent enough, because each change writes to the disk.
 */
static void
cached_note_used(int fd, const struct stat *status)
{
	int64_t used_s = time(NULL) - status->st_mtim.tv_sec;

	if (used_s < 0 || used_s >= USED_S)
		(void) futimens(fd, NULL); /* on failure the file is only evicted earlier */
}

int
cache_directory_find(CacheDirectory *cache, const char *name)
{
	int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
	{
		close(fd);
		return -EBADMSG;
	}
	cached_note_used(fd, &status);
	return fd;
}

int
cache_directory_make(CacheDirectory *cache)
{
	/* with the cache's suffix, so that a file that a killed process leaves is evicted in the end */
	return temporary_file_create(cache->fd, "new-", cache->suffix, cache->made);
}

int
cache_file_write(int fd, const void *bytes, size_t length)
{
	const uint8_t *cursor = bytes;

	while (length > 0)
	{
		ssize_t written = write(fd, cursor, length);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0)
		{
			cursor += written;
			length -= (size_t) written;
		}
	}
	return 0;
}

int
cache_file_read(int fd, uint64_t offset, void *bytes, size_t length)
{
	return read_at(fd, offset, bytes, length) == 0 ? 0 : -EBADMSG;
}

int
cache_directory_keep(CacheDirectory *cache, const char *name, size_t size_bytes)
{
	int err;

	if (renameat(cache->fd, cache->made, cache->fd, name) != 0)
	{
		err = -errno;
		cache_directory_drop(cache);
		return err;
	}
	cache->bytes += size_bytes;
	return cache->bytes > cache->limit_bytes ? cache_evict(cache) : 0;
}

void
cache_directory_drop(CacheDirectory *cache)
{
	(void) unlinkat(cache->fd, cache->made, 0);
}
