/*
 * flamegraph.c
 *		flamegraph(): the rows of Grafana's flame-graph panel.
 */
#include "query/flamegraph.h"

#include "query/srf.h"

/* Result columns. */
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
	COL_BINARY,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_flamegraph);

/* NULL is no limit. */
static uint32
get_max_nodes(FunctionCallInfo fcinfo)
{
	int32 max_nodes;

	if (PG_ARGISNULL(PFS_FLAME_ARG_MAX_NODES))
		return PFS_NO_ROW_LIMIT;
	max_nodes = PG_GETARG_INT32(PFS_FLAME_ARG_MAX_NODES);
	if (max_nodes < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_nodes must be at least 1"),
				 errhint("NULL takes the limit away.")));
	return (uint32) max_nodes;
}

PfsFlamegraph
pfs_flamegraph_query(FunctionCallInfo fcinfo)
{
	PfsFlamegraph flame;
	PfsFilters filters = pfs_filters_get(fcinfo, PFS_FLAME_ARG_FILTERS);
	uint32 max_nodes = get_max_nodes(fcinfo);
	PfsFrameTree *tree;

	flame.selection = pfs_selection_get(fcinfo, PFS_FLAME_ARG_SELECTOR);
	flame.inverted =
		!PG_ARGISNULL(PFS_FLAME_ARG_INVERTED) && PG_GETARG_BOOL(PFS_FLAME_ARG_INVERTED);
	tree = pfs_frame_tree_query(flame.selection, &filters, flame.inverted);
	flame.rows = pfs_flame_rows(tree, max_nodes);
	return flame;
}

static void
put_row(const PfsRows *rows, int32 ord, const PfsFlameRow *row)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	PfsFrameSource source = { NULL, 0, NULL };

	if (row->node != NULL)
		source = pfs_frame_source(row->node);
	values[COL_ORD] = Int32GetDatum(ord);
	values[COL_LEVEL] = Int32GetDatum(row->level);
	values[COL_VALUE] = Int64GetDatum(row->total.value);
	values[COL_SELF] = Int64GetDatum(row->self.value);
	values[COL_LABEL] = pfs_text_or_null(row->label, &nulls[COL_LABEL]);
	values[COL_TRUNCATED] = BoolGetDatum(row->node == NULL);
	values[COL_FILE] = pfs_text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_LINE] = Int32GetDatum(source.line);
	nulls[COL_LINE] = source.line == 0;
	values[COL_BINARY] = pfs_text_or_null(source.binary, &nulls[COL_BINARY]);
	pfs_rows_put(rows, values, nulls);
	for (int i = 0; i < COL_COUNT; i++)
	{
		if ((i == COL_LABEL || i == COL_FILE || i == COL_BINARY) && !nulls[i])
			pfree(DatumGetPointer(values[i]));
	}
}

/*
 * flamegraph(selector, from_ts, to_ts, max_nodes, inverted, focus, ignore, show, hide)
 */
PGDLLEXPORT Datum
profstore_flamegraph(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	PfsFlamegraph flame = pfs_flamegraph_query(fcinfo);

	for (uint32 i = 0; i < flame.rows.count; i++)
		put_row(&rows, (int32) i, &flame.rows.rows[i]);
	return (Datum) 0;
}
