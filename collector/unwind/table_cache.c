/*
 * table_cache.c
 *		Names the files of unwind tables by build ID, and stores and loads them.
 */
#include "unwind/table_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_directory.h"

#define SUFFIX	   ".unwind"
#define NAME_BYTES 128

struct TableCache
{
	CacheDirectory *directory;
};

int
table_cache_open(const char *directory, size_t limit_bytes, TableCache **result)
{
	TableCache *cache = calloc(1, sizeof(*cache));
	int err;

	if (cache == NULL)
		return -ENOMEM;
	err = cache_directory_open(directory, SUFFIX, limit_bytes, &cache->directory);
	if (err != 0)
	{
		free(cache);
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
	cache_directory_close(cache->directory);
	free(cache);
}

/*
 * Makes the name of a table file. Only a hexadecimal build ID is accepted, so the name cannot lead
 * out of the directory.
 */
static int
table_file_name(const char *build_id, char name[NAME_BYTES])
{
	size_t length = strspn(build_id, "0123456789abcdef");

	if (length == 0 || build_id[length] != '\0' || length + sizeof(SUFFIX) > NAME_BYTES)
		return -EINVAL;
	snprintf(name, NAME_BYTES, "%s" SUFFIX, build_id);
	return 0;
}

/* Opens the table file of a build ID. Returns a descriptor or -errno. */
static int
table_file_open(TableCache *cache, const char *build_id)
{
	char name[NAME_BYTES];
	int err = table_file_name(build_id, name);

	return err != 0 ? err : cache_directory_find(cache->directory, name);
}

int
table_cache_load(TableCache *cache, const char *build_id, const CfiInput *input,
				 const PackedParts *parts, RuleSet *rules, PackedTable *packed, CfiStats *stats,
				 TableFileIndex *index)
{
	int fd = table_file_open(cache, build_id);
	int err;

	if (fd < 0)
		return fd;
	err = table_file_read(fd, input, parts, rules, packed, stats, index);
	close(fd);
	return err;
}

int
table_cache_load_parts(TableCache *cache, const char *build_id, const TableFileIndex *index,
					   PackedTable *packed)
{
	int fd = table_file_open(cache, build_id);
	int err;

	if (fd < 0)
		return fd;
	err = table_file_read_parts(fd, index, packed);
	close(fd);
	return err;
}

static int
table_file_write(TableCache *cache, const char *name, const uint8_t *bytes, size_t length)
{
	int fd = cache_directory_make(cache->directory);
	int err;

	if (fd < 0)
		return fd;
	err = cache_file_write(fd, bytes, length);
	/* close() may report a failed write, for example on a full network file system */
	if (close(fd) != 0 && err == 0)
		err = -errno;
	if (err == 0)
		/* renames the temporary file, so that no reader sees an incomplete one */
		return cache_directory_keep(cache->directory, name, length);
	cache_directory_drop(cache->directory);
	return err;
}

int
table_cache_store(TableCache *cache, const char *build_id, const CfiInput *input,
				  const RuleSet *rules, const PackedTable *packed, const CfiStats *stats,
				  TableFileIndex *index)
{
	char name[NAME_BYTES];
	uint8_t *bytes;
	size_t length;
	int err = table_file_name(build_id, name);

	if (err == 0)
		err = table_file_encode(input, rules, packed, stats, &bytes, &length, index);
	if (err != 0)
		return err;
	/* table_file_read() would refuse a longer file */
	err = length > TABLE_FILE_MAX_BYTES ? -EFBIG : table_file_write(cache, name, bytes, length);
	free(bytes);
	if (err != 0)
		table_file_index_fini(index);
	return err;
}
