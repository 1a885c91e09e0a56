/*
 * stack_sums.h
 *		The merge: one sum per stack over a selection.
 *
 * Delta types add up. Instant types are averaged over the scrapes (distinct times) of each series, then series are
 * added; the average of a stack is rounded once, at the end. Stacks that sum to zero are left out.
 */
#ifndef PFS_STACK_SUMS_H
#define PFS_STACK_SUMS_H

#include "profstore.h"

#include "query/selection.h"

typedef struct PfsStackSum
{
	int64 stack_id;
	int64 value;
} PfsStackSum;

typedef struct PfsStackSums
{
	uint32 count;
	PfsStackSum *sums; /* by ascending stack id */
} PfsStackSums;

/*
 * Scans the samples of the selection. The result lives in CurrentMemoryContext, what the scan needs goes before the
 * return. Raises NUMERIC_VALUE_OUT_OF_RANGE where a sum does not fit int8.
 */
PfsStackSums pfs_stack_sums(const PfsSelection *selection);

/* a + b, or NUMERIC_VALUE_OUT_OF_RANGE. */
int64 pfs_add_values(int64 a, int64 b);

#endif
