/*
 * extent_pool.h
 *		Runs of slots in an array that the kernel side reads: handed out, given back, and reused
 *		only after a while.
 *
 * A walker that has just read "your rows are slots 100 to 140" may still be reading them when they
 * are given back. So they rest for EXTENT_GRACE_NS first: longer than any walk takes, since walks
 * run with interrupts off.
 */
#ifndef COLLECTOR_EXTENT_POOL_H
#define COLLECTOR_EXTENT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTENT_GRACE_NS UINT64_C(1000000000)

typedef struct Extent
{
	uint32_t first;
	uint32_t count;
} Extent;

typedef struct RestingExtent
{
	Extent extent;
	uint64_t free_at_ns;
} RestingExtent;

typedef struct ExtentPool
{
	uint32_t limit;	   /* slots that the pool may ever hand out */
	uint32_t used_end; /* slots from here on were never handed out */
	uint32_t used_count;
	Extent *free; /* ascending, never touching each other */
	size_t free_count;
	size_t free_capacity;
	RestingExtent *resting; /* in the order of giving back */
	size_t resting_count;
	size_t resting_capacity;
} ExtentPool;

void extent_pool_init(ExtentPool *pool, uint32_t limit);
void extent_pool_fini(ExtentPool *pool);

/*
 * A run of count slots, the smallest that fits. -ENOSPC where there is none, also none that rests;
 * -ENOMEM.
 */
int extent_pool_take(ExtentPool *pool, uint32_t count, uint64_t now_ns, uint32_t *first);

/*
 * Never fails: where memory for bookkeeping is out the slots are lost to the pool, not reused too
 * early.
 */
void extent_pool_give(ExtentPool *pool, uint32_t first, uint32_t count, uint64_t now_ns);

#endif
