/*
 * zstd_context.h
 *		The zstd contexts of this process.
 *
 * They are created at first use and kept: an error that unwinds the server's stack cannot leak
 * them, and creating one costs more than compressing most streams. Not safe for several threads.
 */
#ifndef PFS_ZSTD_CONTEXT_H
#define PFS_ZSTD_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the largest size of the frame of length bytes. */
size_t pfs_zstd_bound(size_t length);

typedef enum PfsZstdSearch
{
	PFS_ZSTD_QUICK,	  /* for bytes that will be compressed again later */
	PFS_ZSTD_REPEATS, /* for bytes that recur in the same order */
	/*
	 * for bytes that are unevenly distributed but in no order, where matches by chance cost more
	 * than they save
	 */
	PFS_ZSTD_LITERALS
} PfsZstdSearch;

/*
 * Compresses. *written is 0 if the result does not fit the capacity. Returns false if out of
 * memory.
 */
bool pfs_zstd_compress(void *target, size_t capacity, const void *source, size_t length,
					   PfsZstdSearch search, size_t *written);

typedef enum PfsZstdResult
{
	PFS_ZSTD_OK,
	PFS_ZSTD_CORRUPT, /* not one frame that unpacks to exactly length bytes */
	PFS_ZSTD_NO_MEMORY
} PfsZstdResult;

PfsZstdResult pfs_zstd_decompress(void *target, size_t length, const void *source,
								  size_t source_length);

#endif
