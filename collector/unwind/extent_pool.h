/*
 * extent_pool.h
 *		Runs of slots in an array that the BPF program reads: allocated, returned, and reused only
 *		after a delay.
 *
 * A walk may still read a run at the moment when it is returned. So returned runs rest for
 * EXTENT_GRACE_NS, which is longer than any walk, because walks run with interrupts disabled.
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
	uint32_t limit;	   /* number of slots that may be in use */
	uint32_t used_end; /* slots from here on were never allocated */
	uint32_t used_count;
	Extent *free; /* sorted by position, never adjacent */
	size_t free_count;
	size_t free_capacity;
	RestingExtent *resting; /* sorted by the time of their return */
	size_t resting_count;
	size_t resting_capacity;
} ExtentPool;

void extent_pool_init(ExtentPool *pool, uint32_t limit);
void extent_pool_fini(ExtentPool *pool);

/*
 * Allocates a run of count slots from the smallest free run that is large enough. Returns 0;
 * -ENOSPC if no free run is large enough (resting runs are not free); -ENOMEM.
 */
int extent_pool_take(ExtentPool *pool, uint32_t count, uint64_t now_ns, uint32_t *first);

/*
 * Returns a run; cannot fail. Out of memory, the run is lost: it can never be reused, which is safe
 * for walks.
 */
void extent_pool_give(ExtentPool *pool, uint32_t first, uint32_t count, uint64_t now_ns);

#endif
