/*
 * zstd_context.h
 *		The zstd contexts of this process.
 *
 * They are made at first use and kept: an error that unwinds the server's stack cannot leak them,
 * and a context costs more than most streams. Not for use by several threads.
 */
#ifndef PFS_ZSTD_CONTEXT_H
#define PFS_ZSTD_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Room that a frame of that many bytes may need. */
size_t pfs_zstd_bound(size_t length);

typedef enum PfsZstdSearch
{
	PFS_ZSTD_QUICK,	  /* for what will be packed again */
	PFS_ZSTD_REPEATS, /* bytes that recur in the same order */
	/* bytes that are uneven but in no order: repeats that are none cost more than they save */
	PFS_ZSTD_LITERALS
} PfsZstdSearch;

/* Compresses; *written is 0 where zstd could not. False: out of memory. */
bool pfs_zstd_compress(void *target, size_t capacity, const void *source, size_t length,
					   PfsZstdSearch search, size_t *written);

typedef enum PfsZstdResult
{
	PFS_ZSTD_OK,
	PFS_ZSTD_CORRUPT, /* not one frame that unpacks to just that many bytes */
	PFS_ZSTD_NO_MEMORY
} PfsZstdResult;

PfsZstdResult pfs_zstd_decompress(void *target, size_t length, const void *source,
								  size_t source_length);

#endif
