/*
 * memory_share.c
 *		Charging, and memory that is charged by what the system has set aside for it.
 */
#include "base/memory_share.h"

#include <malloc.h>
#include <stdlib.h>

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
pool_release(MemoryPool *pool, size_t bytes)
{
	atomic_fetch_sub(&pool->used_bytes, bytes);
}

bool
share_charge(MemoryShare *share, size_t bytes)
{
	size_t limit;

	if (share == NULL)
		return true;
	if (pool_charge(share->pool, bytes))
	{
		share->used_bytes += bytes;
		return true;
	}
	limit = share->pool->limit_bytes;
	if (bytes > limit || share->used_bytes > limit - bytes)
		share->is_beyond = true;
	else
		share->is_crowded = true;
	return false;
}

void
share_release(MemoryShare *share, size_t bytes)
{
	if (share == NULL)
		return;
	share->used_bytes -= bytes;
	pool_release(share->pool, bytes);
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

	/* what is given back is what is there by then: a few bytes more than were asked for */
	after = malloc_usable_size(grown);
	if (share != NULL && after > before + added)
	{
		share->used_bytes += after - before - added;
		atomic_fetch_add(&share->pool->used_bytes, after - before - added);
	}
	else
		share_release(share, before + added - after);
	return grown;
}
