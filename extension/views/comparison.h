/*
 * comparison.h
 *		The query behind every function that compares two selections.
 */
#ifndef PFS_COMPARISON_H
#define PFS_COMPARISON_H

#include "profstore.h"

#include "fmgr.h"

#include "select/selection.h"
#include "tree/frame_tree.h"

/*
 * First arguments of such a function, with those of pfs_frame_filters_get from
 * PFS_COMPARISON_ARG_FILTERS on.
 */
enum
{
	PFS_COMPARISON_ARG_SELECTOR = 0,
	PFS_COMPARISON_ARG_BASE_FROM = 1,
	PFS_COMPARISON_ARG_FROM = 3,
	PFS_COMPARISON_ARG_BASE_SELECTOR = 5, /* NULL: the selector */
	PFS_COMPARISON_ARG_ABSOLUTE = 6,
	PFS_COMPARISON_ARG_LIMIT = 7,
	PFS_COMPARISON_ARG_FILTERS = 8
};

typedef struct PfsComparison
{
	const PfsSelection *selection;
	const PfsSelection *base;
	PfsStackStream *stacks; /* of both */
} PfsComparison;

/*
 * Reads the arguments and sums up both sides, by rate unless absolute; see
 * pfs_stack_stream_compare. Lives in CurrentMemoryContext.
 */
PfsComparison pfs_comparison_query(FunctionCallInfo fcinfo);

/* Makes a tree of the stacks, which go; see pfs_frame_tree_build. */
PfsFrameTree *pfs_comparison_tree(PfsComparison *comparison, const PfsFilters *filters);

bool pfs_comparison_is_absolute(FunctionCallInfo fcinfo);

#endif
