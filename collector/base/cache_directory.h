/*
 * cache_directory.h
 *		A directory of files that can be made again, limited to a number of bytes.
 *
 * A new file is written under a temporary name and renamed, so it exists completely or not at all.
 * Above the limit we remove files of the owner with the most bytes, least recently used first. The
 * owner of a file is the part of its name before the first '-'; names without '-' share one owner.
 * Files without the cache's suffix are never touched. Not thread-safe.
 */
#ifndef COLLECTOR_CACHE_DIRECTORY_H
#define COLLECTOR_CACHE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

typedef struct CacheDirectory CacheDirectory;

/*
 * Opens the directory at path; makes it if only its last component is missing. suffix must outlive
 * the cache. Returns 0; -EPERM if another user owns the directory or may write into it; otherwise
 * -errno.
 */
int cache_directory_open(const char *path, const char *suffix, size_t limit_bytes,
						 CacheDirectory **cache);
void cache_directory_close(CacheDirectory *cache); /* accepts NULL */

/*
 * Opens a regular file for reading and sets its time of use, with a resolution of an hour. Returns
 * a descriptor or -errno.
 */
int cache_directory_find(CacheDirectory *cache, const char *name);

/*
 * Creates a file under a temporary name, which cache_directory_find() does not return, and opens it
 * for writing. Returns a descriptor, owned by the caller, or -errno. Must be followed by
 * cache_directory_keep() or cache_directory_drop() before the next call.
 */
int cache_directory_make(CacheDirectory *cache);

/*
 * Writes all bytes to a descriptor, which may be of cache_directory_make() or of any other file.
 * Any process may call it. Returns 0 or -errno.
 */
int cache_file_write(int fd, const void *bytes, size_t length);

/* Reads all of length bytes at an offset of a file of the cache. Returns 0 or -EBADMSG. */
int cache_file_read(int fd, uint64_t offset, void *bytes, size_t length);

/*
 * Renames the new file, of size_bytes, to name. Returns 0 or -errno; if the rename fails, the cache
 * is unchanged and the new file is removed.
 */
int cache_directory_keep(CacheDirectory *cache, const char *name, size_t size_bytes);
void cache_directory_drop(CacheDirectory *cache);

#endif
