/*
 * memory_share.c
 *		Charges shares and pools. share_realloc() charges the size that malloc() really reserved.
 */
#include "base/memory_share.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

/* Must be shorter than the time clients wait for an answer. */
#define TURN_S 5

void
turns_init(MemoryTurns *turns)
{
	*turns = (MemoryTurns){ .at_work = 0 };
	clock_condition_init(&turns->released);
	pthread_mutex_init(&turns->lock, NULL);
}

void
turns_fini(MemoryTurns *turns)
{
	pthread_mutex_destroy(&turns->lock);
	pthread_cond_destroy(&turns->released);
}

/* Wakes the task that waits for memory. Call it after released bytes have been counted. */
static void
turns_signal(MemoryTurns *turns)
{
	if (turns == NULL || !atomic_load(&turns->is_awaited))
		return;
	pthread_mutex_lock(&turns->lock);
	pthread_cond_signal(&turns->released);
	pthread_mutex_unlock(&turns->lock);
}

/*
 * Waits until bytes can be charged. Returns false after TURN_S, or if no other task is active that
 * could release memory.
 */
static bool
wait_for_others(MemoryPool *pool, size_t bytes)
{
	MemoryTurns *turns = pool->turns;
	struct timespec until;
	bool is_charged;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += TURN_S;
	pthread_mutex_lock(&turns->lock);
	atomic_store(&turns->is_awaited, true);
	while (!(is_charged = pool_charge(pool, bytes)) && err == 0 && atomic_load(&turns->at_work) > 1)
		err = pthread_cond_timedwait(&turns->released, &turns->lock, &until);
	atomic_store(&turns->is_awaited, false);
	pthread_mutex_unlock(&turns->lock);
	return is_charged;
}

static bool
take_turn(MemoryShare *share)
{
	if (!share->has_turn)
		share->has_turn = !atomic_exchange(&share->pool->turns->is_taken, true);
	return share->has_turn;
}

bool
pool_charge(MemoryPool *pool, size_t bytes)
{
	size_t used = atomic_load(&pool->used_bytes);

	do
	{
		if (bytes > pool->limit_bytes || used > pool->limit_bytes - bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&pool->used_bytes, &used, used + bytes));
	return true;
}

void
pool_add(MemoryPool *pool, size_t bytes)
{
	atomic_fetch_add(&pool->used_bytes, bytes);
}

void
pool_release(MemoryPool *pool, size_t bytes)
{
	atomic_fetch_sub(&pool->used_bytes, bytes);
	turns_signal(pool->turns);
}

void
share_begin(MemoryShare *share, MemoryPool *pool, size_t used_bytes)
{
	*share = (MemoryShare){ .pool = pool, .used_bytes = used_bytes };
	if (pool->turns != NULL)
		atomic_fetch_add(&pool->turns->at_work, 1);
}

void
share_end(MemoryShare *share, size_t used_bytes)
{
	MemoryTurns *turns = share->pool->turns;

	share_release(share, share->used_bytes - used_bytes);
	if (turns == NULL)
		return;
	if (share->has_turn)
		atomic_store(&turns->is_taken, false);
	atomic_fetch_sub(&turns->at_work, 1);
	turns_signal(turns);
}

/* Takes the turn if no other task has it, and waits until other tasks release memory. */
static bool
share_charge_crowded(MemoryShare *share, size_t bytes)
{
	return share->pool->turns != NULL && take_turn(share) && wait_for_others(share->pool, bytes);
}

/*
 * Returns true if the share may charge at this moment. While the owner of the turn waits, no other
 * share may charge, so that the owner gets the memory that others release.
 */
static bool
share_may_charge(const MemoryShare *share)
{
	const MemoryTurns *turns = share->pool->turns;

	return turns == NULL || share->has_turn || !atomic_load(&turns->is_awaited);
}

bool
share_charge(MemoryShare *share, size_t bytes)
{
	size_t limit;

	if (share == NULL)
		return true;
	limit = share->pool->limit_bytes;
	if (bytes > limit || share->used_bytes > limit - bytes)
	{
		share->is_beyond = true;
		return false;
	}
	if (!(share_may_charge(share) && pool_charge(share->pool, bytes)) &&
		!share_charge_crowded(share, bytes))
	{
		share->is_crowded = true;
		return false;
	}
	share->used_bytes += bytes;
	return true;
}

void
share_release(MemoryShare *share, size_t bytes)
{
	if (share == NULL)
		return;
	share->used_bytes -= bytes;
	pool_release(share->pool, bytes);
}

void
share_hand_over(MemoryShare *share, size_t bytes)
{
	share->used_bytes -= bytes;
}

void *
share_realloc(void *context, void *memory, size_t bytes)
{
	MemoryShare *share = context;
	size_t before = malloc_usable_size(memory);
	size_t added = bytes > before ? bytes - before : 0;
	size_t after;
	void *grown;

	if (bytes == 0)
	{
		free(memory);
		share_release(share, before);
		return NULL;
	}
	if (!share_charge(share, added))
		return NULL;
	grown = realloc(memory, bytes);
	if (grown == NULL)
	{
		share_release(share, added);
		return NULL;
	}

	/*
	 * Release what was charged beyond the real reservation, or charge the few bytes that malloc()
	 * reserved in addition.
	 */
	after = malloc_usable_size(grown);
	if (share != NULL && after > before + added)
	{
		share->used_bytes += after - before - added;
		pool_add(share->pool, after - before - added);
	}
	else
		share_release(share, before + added - after);
	return grown;
}
