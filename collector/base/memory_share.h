/*
 * memory_share.h
 *		A memory limit that several threads share: a pool, and the share that one task has of it.
 *
 * A share belongs to one thread at a time; all threads use the pool. If a charge is refused, the
 * share records the reason: other tasks hold the memory, so a retry may succeed (is_crowded), or
 * the request exceeds the pool's limit (is_beyond).
 *
 * Tasks that grow side by side may each hold too much for any of them to finish: if all were
 * refused at once, all would fail again and again. In a pool with turns, the first crowded task
 * takes the turn and waits with the memory that it holds, while the others are refused and so
 * release theirs. It keeps the turn until it ends, so at least one task always finishes.
 */
#ifndef COLLECTOR_MEMORY_SHARE_H
#define COLLECTOR_MEMORY_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct MemoryTurns
{
	pthread_mutex_t lock; /* guards only the condition */
	pthread_cond_t released;
	atomic_size_t at_work; /* number of shares between share_begin() and share_end() */
	atomic_bool is_taken;
	atomic_bool is_awaited; /* the owner of the turn waits for other tasks to release memory */
} MemoryTurns;

typedef struct MemoryPool
{
	atomic_size_t used_bytes;
	size_t limit_bytes;
	MemoryTurns *turns; /* not owned; NULL if crowded tasks are refused at once */
} MemoryPool;

typedef struct MemoryShare
{
	MemoryPool *pool;
	size_t used_bytes;
	bool is_crowded; /* a charge was refused because other tasks hold the memory */
	bool is_beyond;	 /* a charge was refused because it exceeds the pool's limit */
	bool has_turn;
} MemoryShare;

void turns_init(MemoryTurns *turns);
void turns_fini(MemoryTurns *turns);

/* Charges the pool. Returns false, and charges nothing, if fewer bytes are left. */
bool pool_charge(MemoryPool *pool, size_t bytes);
void pool_release(MemoryPool *pool, size_t bytes);

/* Like pool_charge(), but may exceed the limit: for memory that is bounded by other means. */
void pool_add(MemoryPool *pool, size_t bytes);

/*
 * Begin and end a task. share_begin() gives the share used_bytes, which must already be charged to
 * the pool; share_end() releases all bytes beyond used_bytes. A share may take the turn only
 * between the two calls.
 */
void share_begin(MemoryShare *share, MemoryPool *pool, size_t used_bytes);
void share_end(MemoryShare *share, size_t used_bytes);

/*
 * Charge and release bytes of the share and its pool. A NULL share is unlimited and not counted.
 * share_charge() may wait for up to 5 s if the pool has turns.
 */
bool share_charge(MemoryShare *share, size_t bytes);
void share_release(MemoryShare *share, size_t bytes);

/*
 * Takes charged bytes out of the share. They stay charged to the pool until the caller, who owns
 * them now, releases them with pool_release().
 */
void share_hand_over(MemoryShare *share, size_t bytes);

/*
 * Like realloc(), but charges a share (or NULL); 0 bytes free the memory. Has the signature of a
 * PfsAllocator. A result may also be passed to free(), but then stays charged.
 */
void *share_realloc(void *share, void *memory, size_t bytes);

#endif
