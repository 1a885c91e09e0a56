/*
 * stack_part.h
 *		Stacks sorted by the places of their leaves, and sums of neighbours.
 *
 * They are all or some stacks of a dictionary partition. Stacks below a node are neighbours.
 */
#ifndef PFS_STACK_PART_H
#define PFS_STACK_PART_H

#include "profstore.h"

#include "base/arrays.h"
#include "base/sides.h"
#include "tree/stack_subset.h"

/* The arrays live in the context that was current at creation; the leaves belong to the subset. */
typedef struct PfsStackPart
{
	PfsTreeShape shape;
	uint64 age; /* common part of the age of all its nodes; their indexes are added */
	uint32 stack_count;
	uint32 *leaves;			   /* ascending */
	PfsSides *before;		   /* sum of the stacks before each, and last of all; modulo 2^64 */
	PfsWideSides *wide_before; /* exact values of before; NULL if no sum exceeds int8 */
} PfsStackPart;

/* Makes a part of the stacks of a subset that pass; NULL: all do. */
PfsStackPart pfs_stack_part_make(const PfsStackSubset *subset, const bool *passing, uint64 age);

/* Sum of stacks first .. end - 1, modulo 2^64. */
static inline PfsSides
pfs_stack_part_sum(const PfsStackPart *part, uint32 first, uint32 end)
{
	return pfs_subtract_sides(part->before[end], part->before[first]);
}

static inline PfsWideSides
pfs_stack_part_wide_sum(const PfsStackPart *part, uint32 first, uint32 end)
{
	PfsSides sum;

	if (unlikely(part->wide_before != NULL))
		return (PfsWideSides){ part->wide_before[end].value - part->wide_before[first].value,
							   part->wide_before[end].base - part->wide_before[first].base };
	sum = pfs_stack_part_sum(part, first, end);
	return (PfsWideSides){ sum.value, sum.base };
}

static inline void
pfs_stack_part_add_sum(PfsWideSides *sum, const PfsStackPart *part, uint32 first, uint32 end)
{
	PfsWideSides more = pfs_stack_part_wide_sum(part, first, end);

	pfs_add_wide_sides(sum, &more);
}

/*
 * Position of the first stack at or behind stack whose leaf's place is not less than place. Fast if
 * it is near.
 */
static inline uint32
pfs_stack_part_from(const PfsStackPart *part, uint32 stack, uint32 end, uint32 place)
{
	uint32 step = 1;

	while (stack < end && step <= end - stack && part->leaves[stack + step - 1] < place)
	{
		stack += step;
		step = step > PG_UINT32_MAX / 2 ? step : step * 2;
	}
	end = (uint32) Min((uint64) stack + step, end);
	PFS_BISECT(stack, end, middle, part->leaves[middle] < place);
	return stack;
}

#endif
