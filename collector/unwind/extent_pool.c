/*
 * extent_pool.c
 *		Best-fit allocation from a sorted array of free runs; a returned run is joined with its
 *		neighbours.
 *
 * Pools contain some hundred runs, for which plain arrays are faster and simpler than trees.
 */
#include "unwind/extent_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void
extent_pool_init(ExtentPool *pool, uint32_t limit)
{
	memset(pool, 0, sizeof(*pool));
	pool->limit = limit;
}

void
extent_pool_fini(ExtentPool *pool)
{
	free(pool->free);
	free(pool->resting);
	memset(pool, 0, sizeof(*pool));
}

static void
remove_free(ExtentPool *pool, size_t at)
{
	/* free[] is dense and sorted, so the later runs move down by one place */
	pool->free_count--;
	memmove(&pool->free[at], &pool->free[at + 1], (pool->free_count - at) * sizeof(Extent));
}

/* Adds a run to the free ones, joined with its neighbours. Returns 0 or -ENOMEM. */
static int
insert_free(ExtentPool *pool, Extent extent)
{
	size_t at = 0;
	bool joins_before;
	bool joins_after;

	/*
	 * Free runs are never adjacent, so the extent can only join the run before it, the run after
	 * it, or both.
	 */
	while (at < pool->free_count && pool->free[at].first < extent.first)
		at++;
	joins_before = at > 0 && pool->free[at - 1].first + pool->free[at - 1].count == extent.first;
	joins_after = at < pool->free_count && extent.first + extent.count == pool->free[at].first;

	if (joins_before)
	{
		pool->free[at - 1].count += extent.count;
		if (joins_after)
		{
			/* the extent filled the gap between two free runs, which become one */
			pool->free[at - 1].count += pool->free[at].count;
			remove_free(pool, at);
		}
		return 0;
	}
	if (joins_after)
	{
		pool->free[at].first = extent.first;
		pool->free[at].count += extent.count;
		return 0;
	}
	if (grow_array(&pool->free, &pool->free_capacity, pool->free_count, sizeof(Extent)) != 0)
		return -ENOMEM;
	memmove(&pool->free[at + 1], &pool->free[at], (pool->free_count - at) * sizeof(Extent));
	pool->free[at] = extent;
	pool->free_count++;
	return 0;
}

/* Joins a free run at the end of the used slots with the unused slots after it. */
static void
trim_end(ExtentPool *pool)
{
	const Extent *last = pool->free_count > 0 ? &pool->free[pool->free_count - 1] : NULL;

	if (last != NULL && last->first + last->count == pool->used_end)
	{
		pool->used_end = last->first;
		pool->free_count--;
	}
}

static void
wake_resting(ExtentPool *pool, uint64_t now_ns)
{
	size_t woken = 0;

	/*
	 * Runs rest in the order of their return, so the first one that still has to rest ends the
	 * search. A run for which insert_free() gets no memory keeps resting until the next call.
	 */
	while (woken < pool->resting_count && pool->resting[woken].free_at_ns <= now_ns &&
		   insert_free(pool, pool->resting[woken].extent) == 0)
		woken++;
	if (woken == 0)
		return;
	pool->resting_count -= woken;
	memmove(pool->resting, pool->resting + woken, pool->resting_count * sizeof(RestingExtent));
	trim_end(pool);
}

int
extent_pool_take(ExtentPool *pool, uint32_t count, uint64_t now_ns, uint32_t *first)
{
	size_t best = SIZE_MAX;

	wake_resting(pool, now_ns);
	/*
	 * Best fit: a small run is used up before a large one is split. Free runs are preferred to
	 * slots that were never used, so that used_end and with it the kernel's arrays, which only
	 * grow, stay small.
	 */
	for (size_t i = 0; i < pool->free_count; i++)
	{
		if (pool->free[i].count >= count &&
			(best == SIZE_MAX || pool->free[i].count < pool->free[best].count))
			best = i;
	}

	if (best != SIZE_MAX)
	{
		*first = pool->free[best].first;
		pool->free[best].first += count;
		pool->free[best].count -= count;
		if (pool->free[best].count == 0)
			remove_free(pool, best);
	}
	else if (count <= pool->limit - pool->used_end)
	{
		*first = pool->used_end;
		pool->used_end += count;
	}
	else
		return -ENOSPC;
	pool->used_count += count;
	return 0;
}

void
extent_pool_give(ExtentPool *pool, uint32_t first, uint32_t count, uint64_t now_ns)
{
	/*
	 * A run that cannot be listed for lack of memory is never reused: a leak of slots, but safe for
	 * a walk that still reads them.
	 */
	pool->used_count -= count;
	if (count == 0 || grow_array(&pool->resting, &pool->resting_capacity, pool->resting_count,
								 sizeof(RestingExtent)) != 0)
		return;
	pool->resting[pool->resting_count++] =
		(RestingExtent){ { first, count }, now_ns + EXTENT_GRACE_NS };
}
