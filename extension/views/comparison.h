/*
 * comparison.h
 *		The query of every function that compares two selections.
 */
#ifndef PFS_COMPARISON_H
#define PFS_COMPARISON_H

#include "profstore.h"

#include "fmgr.h"

#include "select/selection.h"
#include "tree/frame_tree.h"

typedef struct PfsComparison
{
	const PfsSelection *selection;
	const PfsSelection *base;
	PfsStackStream *stacks; /* stacks of both selections, each with a value per side */
} PfsComparison;

/*
 * Reads the arguments of both selections (base_selector is the selector if it is NULL) and sums up
 * both sides, by rate unless the argument absolute is true; see pfs_stack_stream_compare. Lives in
 * CurrentMemoryContext.
 */
PfsComparison pfs_comparison_query(FunctionCallInfo fcinfo);

/* Builds a tree of both selections by pfs_frame_tree_build(), which ends the stream of stacks. */
PfsFrameTree *pfs_comparison_tree(PfsComparison *comparison, const PfsFilters *filters);

bool pfs_comparison_is_absolute(FunctionCallInfo fcinfo);

#endif
