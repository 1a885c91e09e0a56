/*
 * callers.c
 *		callers() and callees(): the callers of a function, and its callees, as trees.
 */
#include "views/callers.h"

#include "utils/builtins.h"

#include "base/arguments.h"
#include "base/srf.h"
#include "select/selection.h"
#include "tree/flame_rows.h"
#include "views/view.h"

enum
{
	COL_FUNCTION,
	COL_SELF,
	COL_TOTAL,
	COL_SHARE,
	COL_LEVEL,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_callers);
PG_FUNCTION_INFO_V1(profstore_callees);

PfsFunctionQuery
pfs_function_query(FunctionCallInfo fcinfo)
{
	PfsFunctionQuery query;

	query.max_nodes = pfs_max_nodes_get(fcinfo);
	query.filters = pfs_filters_get(fcinfo);
	query.function = TextDatumGetCString(
		pfs_argument_require(fcinfo, "function",
							 "profstore.top() lists the functions of a selection; without a "
							 "range, write function => 'name'."));
	query.selection = pfs_selection_get(fcinfo);
	query.stacks = pfs_stack_stream_begin(query.selection);
	return query;
}

void
pfs_function_tell_missing(const PfsFunctionQuery *query, const PfsFrameTree *tree)
{
	if (!pfs_frame_tree_is_empty(tree))
		return;
	if (query->selection->series_count == 0)
		pfs_selection_tell_empty(query->selection);
	else if (pfs_selection_notes_first())
		ereport(NOTICE, (errmsg("no stack of the selection has function \"%s\"", query->function),
						 errhint("profstore.top() lists the functions in the range that pass the "
								 "filters.")));
}

static void
callers_put_row(const PfsResult *result, const char *name, const PfsFlameRow *row, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };

	values[COL_FUNCTION] = CStringGetTextDatum(name);
	values[COL_SELF] = Int64GetDatum(row->self.value);
	values[COL_TOTAL] = Int64GetDatum(row->total.value);
	values[COL_SHARE] =
		pfs_share_or_null((double) row->total.value, (double) whole, &nulls[COL_SHARE]);
	values[COL_LEVEL] = Int32GetDatum(row->level);
	pfs_result_put(result, values, nulls);
	pfree(DatumGetPointer(values[COL_FUNCTION]));
}

/* Puts the tree of callers (inverted) or callees as rows. */
static void
put_tree(FunctionCallInfo fcinfo, bool inverted)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsFunctionQuery query = pfs_function_query(fcinfo);
	PfsFrameTree *tree =
		pfs_frame_tree_build(query.stacks, &query.filters, inverted, query.function);
	int64 whole = tree->nodes[0].total.value;
	PfsFlameScan *flame;
	PfsFlameRow row;

	pfs_function_tell_missing(&query, tree);
	flame = pfs_flame_scan_begin(tree, query.max_nodes);
	pfs_stack_stream_end(query.stacks);
	while (pfs_flame_scan_next(flame, &row))
	{
		/* plain names, as in top(), not the labels that flame graphs show */
		const char *name = row.level == 0	  ? query.function
						   : row.node == NULL ? row.label
											  : pfs_symbol_name(tree->symbols, row.node->symbol);

		callers_put_row(&result, name, &row, whole);
	}
	pfs_frame_tree_close(tree);
}

PGDLLEXPORT Datum
profstore_callers(PG_FUNCTION_ARGS)
{
	put_tree(fcinfo, true);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_callees(PG_FUNCTION_ARGS)
{
	put_tree(fcinfo, false);
	return (Datum) 0;
}
