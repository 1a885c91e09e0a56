/*
 * stack_sums.h
 *		Sums per stack, the result of the merge.
 */
#ifndef PFS_STACK_SUMS_H
#define PFS_STACK_SUMS_H

#include "profstore.h"

#include "base/sides.h"
#include "dictionary/cache/doubts.h"

typedef struct PfsStackSum
{
	int64 stack_id;
	PfsSides sides;
} PfsStackSum;

typedef struct PfsStackSums
{
	uint32 count;
	PfsStackSum *sums; /* sorted by stack id */
} PfsStackSums;

/* Clips each side to int8, and counts a doubt if it does not fit. */
static inline PfsSides
pfs_clip_sides(const PfsWideSides *sum)
{
	return (PfsSides){ pfs_clip(sum->value), pfs_clip(sum->base) };
}

void pfs_stack_sums_sort(PfsStackSums *sums);

/*
 * Joins the next stacks of two sorted lists: returns the one with the smaller id, with both its
 * sides. NULL is the end of a list; at most one may be NULL. Sets the pointer that was not used to
 * NULL.
 */
static inline PfsStackSum
pfs_stack_sum_pair(const PfsStackSum **value, const PfsStackSum **base)
{
	if (*value != NULL && *base != NULL && (*value)->stack_id != (*base)->stack_id)
	{
		if ((*value)->stack_id < (*base)->stack_id)
			*base = NULL;
		else
			*value = NULL;
	}
	return (PfsStackSum){ *value != NULL ? (*value)->stack_id : (*base)->stack_id,
						  { *value != NULL ? (*value)->sides.value : 0,
							*base != NULL ? (*base)->sides.value : 0 } };
}

#endif
