/*
 * flamegraph.c
 *		flamegraph() and flamegraph_of().
 */
#include "views/flamegraph.h"

#include "utils/array.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/srf.h"
#include "base/version.h"
#include "merge/merged.h"
#include "select/series_groups.h"
#include "views/flame_result.h"
#include "views/view.h"

PG_FUNCTION_INFO_V1(profstore_flamegraph);
PG_FUNCTION_INFO_V1(profstore_flamegraph_of);

/* Returns the selection restricted to the series whose groups have this name. */
static const PfsSelection *
select_group(const PfsSelection *selection, const PfsSeriesGroups *groups, const char *name)
{
	PfsSelection *part = palloc(sizeof(PfsSelection));
	int *places = PFS_ARRAY(int, selection->series_count);

	*part = *selection;
	part->series_count = 0;
	for (int i = 0; i < selection->series_count; i++)
	{
		int32 group = groups->of_series[selection->series[i].index];

		if (strcmp(groups->groups[group].metric, name) == 0)
			places[part->series_count++] = i;
	}
	part->series = PFS_ARRAY(PfsSeries, part->series_count);
	part->series_ids = PFS_ARRAY(int64, part->series_count);
	for (int i = 0; i < part->series_count; i++)
	{
		part->series[i] = selection->series[places[i]];
		part->series_ids[i] = selection->series_ids[places[i]];
	}
	pfree(places);
	return part;
}

/*
 * Builds one tree with a node per group of series below the root, and the group's tree below that
 * node. Each group is scanned separately, which reads no more than one scan of all, since segments
 * are sorted by series. Groups with equal names are neighbours and share a node.
 */
static PfsFrameTree *
query_groups(const PfsSelection *selection, ArrayType *by, const PfsFilters *filters, bool inverted)
{
	PfsSeriesGroups series = pfs_series_groups(selection, by);
	PfsStackGroup *groups = PFS_ARRAY(PfsStackGroup, series.count);
	int32 count = 0;

	for (int32 i = 0; i < series.count; i++)
	{
		const char *name = series.groups[i].metric;

		if (count == 0 || strcmp(groups[count - 1].name, name) != 0)
			groups[count++] = (PfsStackGroup){ name, select_group(selection, &series, name) };
	}
	return pfs_frame_tree_query_groups(groups, count, filters, inverted);
}

PfsFlamegraph
pfs_flamegraph_query(FunctionCallInfo fcinfo)
{
	PfsFlamegraph flame;
	PfsFilters *filters = palloc(sizeof(PfsFilters)); /* the rows' */
	const Datum *argument = pfs_argument(fcinfo, "by");
	ArrayType *by;
	uint32 max_nodes;
	PfsFrameTree *tree;

	pfs_extension_require_current();
	by = argument == NULL ? NULL : DatumGetArrayTypeP(*argument);
	*filters = pfs_filters_get(fcinfo);
	max_nodes = pfs_max_nodes_get(fcinfo);
	flame.selection = pfs_selection_get(fcinfo);
	flame.inverted = pfs_argument_is_true(fcinfo, "inverted");
	tree =
		by != NULL && ArrayGetNItems(ARR_NDIM(by), ARR_DIMS(by)) > 0
			? query_groups(flame.selection, by, filters, flame.inverted)
			: pfs_frame_tree_take(pfs_stack_stream_begin(flame.selection), filters, flame.inverted);
	if (pfs_frame_tree_is_empty(tree))
		pfs_selection_tell_empty(flame.selection);
	flame.tree = tree;
	flame.rows = pfs_flame_scan_begin(tree, max_nodes);
	return flame;
}

void
pfs_flamegraph_end(PfsFlamegraph *flame)
{
	pfs_frame_tree_close(flame->tree);
}

PGDLLEXPORT Datum
profstore_flamegraph(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsFlamegraph flame = pfs_flamegraph_query(fcinfo);

	pfs_flame_result_put_all(&result, 0, flame.rows, false);
	pfs_flamegraph_end(&flame);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_flamegraph_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	bool inverted = pfs_argument_is_true(fcinfo, "inverted");
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFrameTree *tree = pfs_frame_tree_take(pfs_merged_stream(fcinfo, "sums"), &filters, inverted);

	pfs_flame_result_put_all(&result, 0, pfs_flame_scan_begin(tree, max_nodes), false);
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}
