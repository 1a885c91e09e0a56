/*
 * stack_part.h
 *		Stacks by the places of their leaves, and sums of neighbours.
 *
 * They are those of a dictionary partition, or some of them. Stacks below a node are neighbours.
 */
#ifndef PFS_STACK_PART_H
#define PFS_STACK_PART_H

#include "profstore.h"

#include "base/arrays.h"
#include "base/sides.h"
#include "tree/stack_subset.h"

/*
 * Arrays live in the context that was current when the part was made; the leaves are the subset's.
 */
typedef struct PfsStackPart
{
	PfsTreeShape shape;
	uint64 age; /* of all its nodes, but for their indexes */
	uint32 stack_count;
	uint32 *leaves;			   /* ascending */
	PfsSides *before;		   /* sum of the stacks before each, and of all at last; modulo 2^64 */
	PfsWideSides *wide_before; /* the same exactly; NULL where no sum leaves int8 */
} PfsStackPart;

/* The stacks of a subset that pass; NULL: all do. */
PfsStackPart pfs_stack_part_make(const PfsStackSubset *subset, const bool *passing, uint64 age);

/* The sum of stacks first .. end - 1, modulo 2^64. */
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
 * The first stack from one on whose leaf does not lie before a place; near ones are found quickly.
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
