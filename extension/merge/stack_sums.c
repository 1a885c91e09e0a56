/*
 * stack_sums.c
 *		Sorts sums per stack.
 */
#include "merge/stack_sums.h"

static int
compare_stack_ids(const void *a, const void *b)
{
	int64 left = ((const PfsStackSum *) a)->stack_id;
	int64 right = ((const PfsStackSum *) b)->stack_id;

	return (left > right) - (left < right);
}

void
pfs_stack_sums_sort(PfsStackSums *sums)
{
	qsort(sums->sums, sums->count, sizeof(PfsStackSum), compare_stack_ids);
}
