/*
 * callers.c
 *		callers() and callees(): who calls a function, and what it calls, as trees.
 */
#include "query/flamegraph.h"

#include "query/srf.h"
#include "utils/builtins.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_FUNCTION = 3,
	ARG_MAX_NODES,
	ARG_FILTERS
};

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

static void
put_row(const PfsRows *rows, const char *name, const PfsFlameRow *row, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };

	values[COL_FUNCTION] = CStringGetTextDatum(name);
	values[COL_SELF] = Int64GetDatum(row->self.value);
	values[COL_TOTAL] = Int64GetDatum(row->total.value);
	nulls[COL_SHARE] = whole == 0;
	values[COL_SHARE] = Float8GetDatum(whole == 0 ? 0 : (double) row->total.value / (double) whole);
	values[COL_LEVEL] = Int32GetDatum(row->level);
	pfs_rows_put(rows, values, nulls);
	pfree(DatumGetPointer(values[COL_FUNCTION]));
}

static void
put_tree(FunctionCallInfo fcinfo, bool inverted)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo, ARG_MAX_NODES);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, ARG_FILTERS);
	const char *function;
	PfsStackSums sums;
	PfsFrameTree *tree;
	PfsFlameRows flame;

	if (PG_ARGISNULL(ARG_FUNCTION))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("argument function must not be null"),
						errhint("profstore.top() lists the functions of a selection.")));
	function = text_to_cstring(PG_GETARG_TEXT_PP(ARG_FUNCTION));
	sums = pfs_stack_sums(selection);
	tree = pfs_frame_tree_build(&sums, &filters, inverted, function);
	flame = pfs_flame_rows(tree, max_nodes);
	put_row(&rows, function, &flame.rows[0], flame.rows[0].total.value);
	for (uint32 i = 1; i < flame.count; i++)
	{
		const PfsFlameRow *row = &flame.rows[i];

		/* names as they are, which top() has too, rather than the labels made for viewers */
		put_row(&rows,
				row->node == NULL ? row->label : pfs_symbol_name(tree->symbols, row->node->symbol),
				row, flame.rows[0].total.value);
	}
}

/*
 * callers(selector, from_ts, to_ts, function, max_nodes, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_callers(PG_FUNCTION_ARGS)
{
	put_tree(fcinfo, true);
	return (Datum) 0;
}

/*
 * callees(selector, from_ts, to_ts, function, max_nodes, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_callees(PG_FUNCTION_ARGS)
{
	put_tree(fcinfo, false);
	return (Datum) 0;
}
