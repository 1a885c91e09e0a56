/*
 * function_totals.h
 *		What each function costs: itself, and with all below it.
 */
#ifndef PFS_FUNCTION_TOTALS_H
#define PFS_FUNCTION_TOTALS_H

#include "profstore.h"

#include "query/frame_tree.h"

typedef struct PfsFunctionTotal
{
	uint32 symbol;
	const char *name;
	const PfsFrameNode *node; /* one of this function's, for its source */
	PfsSides self;
	PfsSides total; /* a function that recurs in a stack counts once */
} PfsFunctionTotal;

/*
 * Expands the tree, and sums up its functions, in no particular order; returns their number. Lives in
 * CurrentMemoryContext.
 */
uint32 pfs_function_totals(PfsFrameTree *tree, PfsFunctionTotal **functions);

#endif
