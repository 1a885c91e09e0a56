/*
 * flamegraph.c
 *		flamegraph() and flamegraph_diff(): the rows of Grafana's flame-graph panel.
 */
#include "views/flamegraph.h"

#include "base/arrays.h"
#include "base/srf.h"
#include "base/version.h"
#include "merge/merged.h"
#include "select/series_groups.h"
#include "tree/comparison.h"
#include "tree/flame_label.h"
#include "tree/source_texts.h"

#define ARG_BY PFS_FLAME_ARG_COUNT

/* Result columns. In a comparison value and self are the base's, and what it is compared with stands in the last two. */
enum
{
	COL_ORD,
	COL_LEVEL,
	COL_VALUE,
	COL_SELF,
	COL_LABEL,
	COL_TRUNCATED,
	COL_FILE,
	COL_LINE,
	COL_MAPPING,
	COL_COUNT,
	COL_VALUE_RIGHT = COL_COUNT,
	COL_SELF_RIGHT,
	COL_DIFF_COUNT
};

/* Stands beside what is compared, so that both sides have the same total. */
#define PADDING_LABEL "(padding)"

PG_FUNCTION_INFO_V1(profstore_flamegraph);
PG_FUNCTION_INFO_V1(profstore_flamegraph_diff);
PG_FUNCTION_INFO_V1(profstore_flamegraph_diff_of);
PG_FUNCTION_INFO_V1(profstore_flamegraph_of);

uint32
pfs_max_nodes_get(FunctionCallInfo fcinfo, int argument)
{
	int32 max_nodes;

	if (PG_ARGISNULL(argument))
		return PFS_NO_ROW_LIMIT;
	max_nodes = PG_GETARG_INT32(argument);
	if (max_nodes < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_nodes must be at least 1"),
				 errhint("NULL takes the limit away.")));
	return (uint32) max_nodes;
}

/* Those of the series whose groups have a name. */
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
 * The tree of each group of series below a node of its own. A group is scanned by itself, which reads what the whole
 * would, since segments are sorted by series. Groups of one name are one: they are neighbours.
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
pfs_flamegraph_query(FunctionCallInfo fcinfo, ArrayType *by)
{
	PfsFlamegraph flame;
	PfsFilters *filters = palloc(sizeof(PfsFilters)); /* the rows' */
	uint32 max_nodes;
	PfsFrameTree *tree;

	pfs_extension_require_current();
	*filters = pfs_frame_filters_get(fcinfo, PFS_FLAME_ARG_FILTERS);
	max_nodes = pfs_max_nodes_get(fcinfo, PFS_FLAME_ARG_MAX_NODES);
	flame.selection = pfs_selection_get(fcinfo, PFS_FLAME_ARG_SELECTOR);
	flame.inverted =
		!PG_ARGISNULL(PFS_FLAME_ARG_INVERTED) && PG_GETARG_BOOL(PFS_FLAME_ARG_INVERTED);
	tree =
		by != NULL && ArrayGetNItems(ARR_NDIM(by), ARR_DIMS(by)) > 0
			? query_groups(flame.selection, by, filters, flame.inverted)
			: pfs_frame_tree_take(pfs_stack_stream_begin(flame.selection), filters, flame.inverted);
	flame.tree = tree;
	flame.rows = pfs_flame_scan_begin(tree, max_nodes);
	return flame;
}

void
pfs_flamegraph_end(PfsFlamegraph *flame)
{
	pfs_frame_tree_close(flame->tree);
}

static Datum
text_or_null(const text *value, bool *is_null)
{
	*is_null = value == NULL;
	return PointerGetDatum(value);
}

static void
put_row(const PfsResult *result, PfsSourceTable *sources, int32 ord, const PfsFlameRow *row,
		bool is_diff)
{
	Datum values[COL_DIFF_COUNT];
	bool nulls[COL_DIFF_COUNT] = { false };
	PfsSourceTexts source = { NULL, NULL, 0 };

	if (row->node != NULL)
		source = pfs_source_texts(sources, row->node->location, row->node->line);
	values[COL_ORD] = Int32GetDatum(ord);
	values[COL_LEVEL] = Int32GetDatum(row->level);
	values[COL_VALUE] = Int64GetDatum(is_diff ? row->total.base : row->total.value);
	values[COL_SELF] = Int64GetDatum(is_diff ? row->self.base : row->self.value);
	values[COL_LABEL] = PointerGetDatum(row->label_text);
	values[COL_TRUNCATED] = BoolGetDatum(row->node == NULL);
	values[COL_FILE] = text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_LINE] = Int32GetDatum(source.line);
	nulls[COL_LINE] = source.line == 0;
	values[COL_MAPPING] = text_or_null(source.mapping, &nulls[COL_MAPPING]);
	values[COL_VALUE_RIGHT] = Int64GetDatum(row->total.value);
	values[COL_SELF_RIGHT] = Int64GetDatum(row->self.value);
	pfs_result_put(result, values, nulls);
}

/* All rows that are left, the first of them with the ordinal ord; returns the next ordinal. */
static int32
put_rows(const PfsResult *result, int32 ord, PfsFlameScan *flame, bool is_diff)
{
	PfsSourceTable *sources = pfs_source_table();
	PfsFlameRow row;

	while (pfs_flame_scan_next(flame, &row))
		put_row(result, sources, ord++, &row, is_diff);
	return ord;
}

/*
 * flamegraph(selector, from_ts, to_ts, max_nodes, inverted, focus, ignore, show, hide, granularity, by)
 */
PGDLLEXPORT Datum
profstore_flamegraph(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsFlamegraph flame =
		pfs_flamegraph_query(fcinfo, PG_ARGISNULL(ARG_BY) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_BY));

	put_rows(&result, 0, flame.rows, false);
	pfs_flamegraph_end(&flame);
	return (Datum) 0;
}

/*
 * flamegraph_of(sums, max_nodes, inverted, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_flamegraph_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo, 1);
	bool inverted = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, 3);
	PfsFrameTree *tree = pfs_frame_tree_take(pfs_merged_stream(fcinfo, 0), &filters, inverted);

	put_rows(&result, 0, pfs_flame_scan_begin(tree, max_nodes), false);
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}

/*
 * The panel colours by shares of the totals. With a padding that makes the totals equal, the shares of equal values are
 * equal, so the colours tell of the values themselves. The padding is one of max_nodes rows.
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
	put_row(result, sources, 0, &row, true);
	ord = put_rows(result, 1, flame, true);
	if (max_nodes != 1)
	{
		row = pfs_flame_row(1, padding, pfs_text_with_zero(PADDING_LABEL), &tree->nodes[0]);
		put_row(result, sources, ord, &row, true);
	}
}

/* Values as they are, or with a padding that makes the totals equal. */
static void
put_diff(const PfsResult *result, PfsFrameTree *tree, uint32 max_nodes, bool padded)
{
	PfsSides total = tree->nodes[0].total;

	if (padded && total.value != total.base)
		put_padded(result, tree, max_nodes);
	else
		put_rows(result, 0, pfs_flame_scan_begin(tree, max_nodes), true);
}

/*
 * flamegraph_diff(selector, base_from, base_to, from_ts, to_ts, base_selector, absolute, max_nodes, focus, ignore, show,
 * hide)
 */
PGDLLEXPORT Datum
profstore_flamegraph_diff(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo, PFS_COMPARISON_ARG_LIMIT);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, PFS_COMPARISON_ARG_FILTERS);
	PfsComparison comparison = pfs_comparison_query(fcinfo);
	PfsFrameTree *tree = pfs_comparison_tree(&comparison, &filters);

	put_diff(&result, tree, max_nodes, pfs_comparison_is_absolute(fcinfo));
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}

/*
 * flamegraph_diff_of(before, after, max_nodes, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_flamegraph_diff_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo, 2);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, 3);
	PfsStackSums before = pfs_merged_get(fcinfo, 0);
	PfsStackSums after = pfs_merged_get(fcinfo, 1);
	PfsFrameTree *tree =
		pfs_frame_tree_take(pfs_stack_stream_join(&after, &before), &filters, false);

	put_diff(&result, tree, max_nodes, true);
	pfs_frame_tree_close(tree);
	return (Datum) 0;
}
