/*
 * stack_sums.h
 *		Sums per stack, as what follows the merge reads them.
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
	PfsStackSum *sums; /* by ascending stack id */
} PfsStackSums;

/* A side that does not fit int8 is the nearest that does, and a doubt. */
static inline PfsSides
pfs_clip_sides(const PfsWideSides *sum)
{
	return (PfsSides){ pfs_clip(sum->value), pfs_clip(sum->base) };
}

void pfs_stack_sums_sort(PfsStackSums *sums);

/*
 * The lesser of the next stacks of two lists, with both its sides. NULL is the end of a list; one
 * of them has a stack. The one that is not taken becomes NULL.
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
