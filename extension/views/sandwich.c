/*
 * sandwich.c
 *		sandwich(): the callers and the callees of a function, as two flame graphs.
 */
#include "views/callers.h"

#include "utils/builtins.h"

#include "base/srf.h"
#include "tree/flame_rows.h"
#include "tree/frames/flame_label.h"
#include "views/view.h"

enum
{
	COL_SIDE,
	COL_ORD,
	COL_LEVEL,
	COL_VALUE,
	COL_SELF,
	COL_LABEL,
	COL_TRUNCATED,
	COL_SHARE,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_sandwich);

/* Puts one side of the sandwich as a flame graph, numbered from *ord on. */
static void
put_side(const PfsResult *result, const PfsFunctionQuery *query, bool inverted, int32 *ord)
{
	PfsFrameTree *tree =
		pfs_frame_tree_build(query->stacks, &query->filters, inverted, query->function);
	PfsFlameScan *flame;
	int64 whole = tree->nodes[0].total.value;
	Datum side = CStringGetTextDatum(inverted ? "callers" : "callees");
	const char *root_label = pfs_flame_label(query->function);
	PfsFlameRow row;

	if (inverted) /* one NOTICE is enough for both sides */
		pfs_function_tell_missing(query, tree);
	flame = pfs_flame_scan_begin(tree, query->max_nodes);
	while (pfs_flame_scan_next(flame, &row))
	{
		Datum values[COL_COUNT];
		bool nulls[COL_COUNT] = { false };

		values[COL_SIDE] = side;
		values[COL_ORD] = Int32GetDatum((*ord)++);
		values[COL_LEVEL] = Int32GetDatum(row.level);
		values[COL_VALUE] = Int64GetDatum(row.total.value);
		values[COL_SELF] = Int64GetDatum(row.self.value);
		values[COL_LABEL] = CStringGetTextDatum(row.level == 0 ? root_label : row.label);
		values[COL_TRUNCATED] = BoolGetDatum(row.node == NULL);
		values[COL_SHARE] =
			pfs_share_or_null((double) row.total.value, (double) whole, &nulls[COL_SHARE]);
		pfs_result_put(result, values, nulls);
		pfree(DatumGetPointer(values[COL_LABEL]));
	}
	pfs_frame_tree_close(tree);
}

PGDLLEXPORT Datum
profstore_sandwich(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsFunctionQuery query = pfs_function_query(fcinfo);
	int32 ord = 0;

	pfs_stack_stream_keep(query.stacks);
	put_side(&result, &query, true, &ord);
	pfs_stack_stream_rewind(query.stacks);
	put_side(&result, &query, false, &ord);
	pfs_stack_stream_end(query.stacks);
	return (Datum) 0;
}
