/*
 * stack_verdicts.h
 *		Applies filters to whole stacks.
 */
#ifndef PFS_STACK_VERDICTS_H
#define PFS_STACK_VERDICTS_H

#include "profstore.h"

#include "tree/frames/symbols.h"
#include "tree/stack_subset.h"

/* Verdict on a stack: the first of these that applies. */
typedef enum PfsStackVerdict
{
	PFS_STACK_PASSES,
	PFS_STACK_NOT_FOCUSED,
	PFS_STACK_IGNORED,
	PFS_STACK_WITHOUT_FRAMES /* show and hide have removed all frames */
} PfsStackVerdict;

/* Judges each stack. The result is in CurrentMemoryContext, or NULL if there are no filters. */
PfsStackVerdict *pfs_stack_verdicts(const PfsStackSubset *subset, PfsSymbols *symbols);

/*
 * Like pfs_stack_verdicts(), but only returns whether a stack passes. Adds the values of dropped
 * stacks to pfs_symbols_dropped(), so call it once for each stack.
 */
bool *pfs_stacks_passing(const PfsStackSubset *subset, PfsSymbols *symbols);

#endif
