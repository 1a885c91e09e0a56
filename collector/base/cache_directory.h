/*
 * cache_directory.h
 *		A directory of files that can be made again, under a limit of bytes.
 *
 * A new file is written under another name and renamed, so it is there wholly or not at all. Over
 * the limit, files of the owner that has most go, those not used for longest first. The owner of a
 * file is the part of its name before the first '-'; names without one have a common owner. Files
 * without the cache's suffix are left alone. Not thread-safe.
 */
#ifndef COLLECTOR_CACHE_DIRECTORY_H
#define COLLECTOR_CACHE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct CacheDirectory CacheDirectory;

/*
 * Makes the directory if only it is missing. suffix must outlive the cache. 0; -EPERM if others
 * than this user may write into the directory; another -errno.
 */
int cache_directory_open(const char *path, const char *suffix, size_t limit_bytes,
						 CacheDirectory **cache);
void cache_directory_close(CacheDirectory *cache); /* accepts NULL */

/*
 * Opens a regular file for reading, and notes that it is used, to the hour. A descriptor or -errno.
 */
int cache_directory_find(CacheDirectory *cache, const char *name);

/*
 * Makes a new file, which has no name that cache_directory_find() knows, and opens it for writing.
 * A descriptor or -errno. Ended by cache_directory_keep() or cache_directory_drop(), before the
 * next one is made.
 */
int cache_directory_make(CacheDirectory *cache);

/* Writes to such a file, whoever has its descriptor. 0 or -errno. */
int cache_file_write(int fd, const void *bytes, size_t length);

/* Names the new file, which has size_bytes. 0 or -errno; on failure the cache is as it was. */
int cache_directory_keep(CacheDirectory *cache, const char *name, size_t size_bytes);
void cache_directory_drop(CacheDirectory *cache);

#endif
