/*
 * stack_part.c
 *		Running sums over the stacks; exact ones if sums modulo 2^64 may be ambiguous.
 */
#include "tree/stack_part.h"

#include "common/int.h"

/* Computes exact running sums. */
static void
make_wide(PfsStackPart *part)
{
	PfsWideSides sum = { 0, 0 };

	part->wide_before = PFS_ARRAY(PfsWideSides, (Size) part->stack_count + 1);
	for (uint32 stack = 0; stack < part->stack_count; stack++)
	{
		part->wide_before[stack] = sum;
		pfs_add_sides(&sum, pfs_subtract_sides(part->before[stack + 1], part->before[stack]));
	}
	part->wide_before[part->stack_count] = sum;
}

/*
 * Adds the magnitude of a value; returns false if the sum exceeds int8, so that some total might.
 */
static bool
add_size_of(int64 value, int64 *size)
{
	return value != PG_INT64_MIN && !pg_add_s64_overflow(*size, value < 0 ? -value : value, size);
}

PfsStackPart
pfs_stack_part_make(const PfsStackSubset *subset, const bool *passing, uint64 age)
{
	PfsStackPart part = { .shape = subset->shape, .age = age, .leaves = subset->ordered_leaves };
	PfsSides sum = { 0, 0 };
	PfsSides size = { 0, 0 };
	bool fits = true;

	part.before = PFS_ARRAY(PfsSides, (Size) subset->stack_count + 1);
	for (uint32 i = 0; i < subset->stack_count; i++)
	{
		uint32 stack = subset->order[i];
		PfsSides sides = subset->stacks[stack].sides;

		if (passing != NULL && !passing[stack])
			continue;
		part.before[part.stack_count] = sum;
		part.leaves[part.stack_count++] = subset->ordered_leaves[i];
		sum.value = (int64) ((uint64) sum.value + (uint64) sides.value);
		sum.base = (int64) ((uint64) sum.base + (uint64) sides.base);
		fits &= add_size_of(sides.value, &size.value) && add_size_of(sides.base, &size.base);
	}
	part.before[part.stack_count] = sum;
	if (!fits)
		make_wide(&part);
	return part;
}
