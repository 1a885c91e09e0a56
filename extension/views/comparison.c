/*
 * comparison.c
 *		Reads two selections into one stream. A stack has one id on both sides.
 */
#include "views/comparison.h"

#include "base/arguments.h"

bool
pfs_comparison_is_absolute(FunctionCallInfo fcinfo)
{
	return pfs_argument_is_true(fcinfo, "absolute");
}

PfsComparison
pfs_comparison_query(FunctionCallInfo fcinfo)
{
	bool has_base = pfs_argument(fcinfo, "base_selector") != NULL;
	PfsSelection *selection;
	PfsSelection *base;
	PfsComparison comparison;

	selection = pfs_selection_get_range(fcinfo, "selector", "from_ts", "to_ts");
	base = pfs_selection_get_range(fcinfo, has_base ? "base_selector" : "selector", "base_from",
								   "base_to");
	pfs_selection_restrict(selection, fcinfo, "");
	pfs_selection_restrict(base, fcinfo, "base_");
	pfs_selection_tell_unknown(selection);
	comparison.selection = selection;
	comparison.base = base;
	comparison.stacks =
		pfs_stack_stream_compare(selection, base, !pfs_comparison_is_absolute(fcinfo));
	return comparison;
}

PfsFrameTree *
pfs_comparison_tree(PfsComparison *comparison, const PfsFilters *filters)
{
	PfsFrameTree *tree = pfs_frame_tree_take(comparison->stacks, filters, false);

	comparison->stacks = NULL;
	if (pfs_frame_tree_is_empty(tree))
		pfs_selection_tell_empty(comparison->selection);
	return tree;
}
