/*
 * memory_share.h
 *		What several threads hold together, within a limit: a pool, and what one task has of it.
 *
 * A share belongs to one thread at a time, its pool to all. Where a charge is refused the share
 * says why: others hold what there is, so that it may fit later, or it never does.
 *
 * Tasks that grow side by side may each hold too much for any to end: refused at once, all would
 * fail, again and again. A pool with turns lets the first that is crowded wait, holding what it
 * has, while the others are refused and so give theirs back. It has the turn until it ends, so that
 * one of them comes to its end whatever they need.
 */
#ifndef COLLECTOR_MEMORY_SHARE_H
#define COLLECTOR_MEMORY_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct MemoryTurns
{
	pthread_mutex_t lock; /* for the condition alone */
	pthread_cond_t released;
	atomic_size_t at_work; /* shares between share_begin and share_end */
	atomic_bool is_taken;
	atomic_bool is_awaited; /* who has the turn waits for what the others hold */
} MemoryTurns;

typedef struct MemoryPool
{
	atomic_size_t used_bytes;
	size_t limit_bytes;
	MemoryTurns *turns; /* not owned; NULL: who is crowded is refused at once */
} MemoryPool;

typedef struct MemoryShare
{
	MemoryPool *pool;
	size_t used_bytes;
	bool is_crowded; /* others hold what was asked for */
	bool is_beyond;	 /* the pool has not so much */
	bool has_turn;
} MemoryShare;

void turns_init(MemoryTurns *turns);
void turns_fini(MemoryTurns *turns);

/* False, and nothing charged, where the pool has not so much left. */
bool pool_charge(MemoryPool *pool, size_t bytes);
void pool_release(MemoryPool *pool, size_t bytes);

/* Like pool_charge(), but beyond the limit too: for memory that its owner bounds otherwise. */
void pool_add(MemoryPool *pool, size_t bytes);

/*
 * A task begins, for which used_bytes are charged already, and ends: what it has beyond them goes
 * back. Only in between may a share have the turn, or be waited for.
 */
void share_begin(MemoryShare *share, MemoryPool *pool, size_t used_bytes);
void share_end(MemoryShare *share, size_t used_bytes);

/*
 * As of the pool; without a share (NULL) nothing is counted, and nothing refused. Where the pool
 * has turns it may wait some seconds.
 */
bool share_charge(MemoryShare *share, size_t bytes);
void share_release(MemoryShare *share, size_t bytes);

/*
 * As realloc; 0 bytes: free. What it returns may be given to free, too, and stays charged then. The
 * first argument is a share, or NULL: so it is the function of a PfsAllocator.
 */
void *share_realloc(void *share, void *memory, size_t bytes);

#endif
