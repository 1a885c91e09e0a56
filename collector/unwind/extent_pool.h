/*
 * extent_pool.h
 *		Runs of slots in an array that the BPF program reads: allocated, returned, and reused
 *		only after a delay.
 *
 * A walk that has just read "your rows are slots 100 to 140" may still read them when they are
 * returned. So they rest for EXTENT_GRACE_NS, which is longer than any walk, because walks run with
 * interrupts disabled.
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
	Extent *free; /* ascending, never adjacent */
	size_t free_count;
	size_t free_capacity;
	RestingExtent *resting; /* in the order of their return */
	size_t resting_count;
	size_t resting_capacity;
} ExtentPool;

void extent_pool_init(ExtentPool *pool, uint32_t limit);
void extent_pool_fini(ExtentPool *pool);

/*
 * Allocates a run of count slots, from the smallest run that fits. Returns 0; -ENOSPC if no free
 * run fits, because resting runs are not free; -ENOMEM.
 */
int extent_pool_take(ExtentPool *pool, uint32_t count, uint64_t now_ns, uint32_t *first);

/*
 * Returns a run; never fails. Out of memory, its slots are lost, so that they are never reused too
 * early.
 */
void extent_pool_give(ExtentPool *pool, uint32_t first, uint32_t count, uint64_t now_ns);

#endif
