/*
 * memory_share.h
 *		What several threads hold together, within a limit: a pool, and what one task has of it.
 *
 * A share belongs to one thread at a time, its pool to all. Where a charge is refused the share
 * says why: others hold what there is, so that it may fit later, or it never does.
 */
#ifndef COLLECTOR_MEMORY_SHARE_H
#define COLLECTOR_MEMORY_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct MemoryPool
{
	atomic_size_t used_bytes;
	size_t limit_bytes;
} MemoryPool;

typedef struct MemoryShare
{
	MemoryPool *pool;
	size_t used_bytes;
	bool is_crowded; /* others hold what was asked for */
	bool is_beyond;	 /* the pool has not so much */
} MemoryShare;

/* False, and nothing charged, where the pool has not so much left. */
bool pool_charge(MemoryPool *pool, size_t bytes);
void pool_release(MemoryPool *pool, size_t bytes);

/* The same; without a share (NULL) nothing is counted, and nothing refused. */
bool share_charge(MemoryShare *share, size_t bytes);
void share_release(MemoryShare *share, size_t bytes);

/*
 * As realloc; 0 bytes: free. What it returns may be given to free, too, and stays charged then. The
 * first argument is a share, or NULL: so it is the function of a PfsAllocator.
 */
void *share_realloc(void *share, void *memory, size_t bytes);

#endif
