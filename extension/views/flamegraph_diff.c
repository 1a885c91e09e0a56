/*
 * flamegraph_diff.c
 *		flamegraph_diff() and flamegraph_diff_of(): two selections in one tree.
 */
#include "views/flame_result.h"

#include "fmgr.h"

#include "merge/merged.h"
#include "tree/frames/flame_label.h"
#include "views/comparison.h"
#include "views/view.h"

PG_FUNCTION_INFO_V1(profstore_flamegraph_diff);
PG_FUNCTION_INFO_V1(profstore_flamegraph_diff_of);

/* Label of a node that is added to the smaller side to make both totals equal. */
#define PADDING_LABEL "(padding)"

/*
 * Puts the rows of the tree and a padding. Grafana's panel colours nodes by their shares of the
 * totals. A padding makes the totals equal, so equal values have equal shares, and colours show
 * differences of values. The padding is one of the max_nodes rows.
 */
static void
put_padded(const PfsResult *result, PfsFrameTree *tree, uint32 max_nodes)
{
	PfsSides total = tree->nodes[0].total;
	int64 larger = Max(total.value, total.base);
	PfsSides padded = { larger, larger };
	PfsSides padding = { pfs_clip((int128) larger - total.value),
						 pfs_clip((int128) larger - total.base) };
	PfsFlameScan *flame = pfs_flame_scan_begin(tree, max_nodes > 1 ? max_nodes - 1 : max_nodes);
	PfsSourceTable *sources = pfs_source_table();
	PfsFlameRow row;
	int32 ord;

	pfs_flame_scan_next(flame, &row);
	row.total = padded;
	if (max_nodes == 1)
		row.self = padded;
	pfs_flame_result_put(result, sources, 0, &row, true);
	ord = pfs_flame_result_put_all(result, 1, flame, true);
	if (max_nodes != 1)
	{
		row = pfs_flame_row(1, padding, pfs_text_with_zero(PADDING_LABEL), &tree->nodes[0]);
		pfs_flame_result_put(result, sources, ord, &row, true);
	}
}

/* Puts the rows of the tree, with a padding if the totals must be equal. */
static void
put_diff(const PfsResult *result, PfsFrameTree *tree, uint32 max_nodes, bool padded)
{
	PfsSides total = tree->nodes[0].total;

	if (padded && total.value != total.base)
		put_padded(result, tree, max_nodes);
	else
		pfs_flame_result_put_all(result, 0, pfs_flame_scan_begin(tree, max_nodes), true);
}

PGDLLEXPORT Datum
profstore_flamegraph_diff(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsComparison comparison = pfs_comparison_query(fcinfo);
	PfsFrameTree *tree = pfs_comparison_tree(&comparison, &filters);

	put_diff(&result, tree, max_nodes, pfs_comparison_is_absolute(fcinfo));
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_flamegraph_diff_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsStackSums before = pfs_merged_get(fcinfo, "before");
	PfsStackSums after = pfs_merged_get(fcinfo, "after");
	PfsFrameTree *tree =
		pfs_frame_tree_take(pfs_stack_stream_join(&after, &before), &filters, false);

	put_diff(&result, tree, max_nodes, true);
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}
