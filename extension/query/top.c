/*
 * top.c
 *		top(): functions by what they cost.
 */
#include "query/function_totals.h"

#include "query/srf.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_MAX_ROWS = 3,
	ARG_FILTERS
};

enum
{
	COL_FUNCTION,
	COL_SELF,
	COL_TOTAL,
	COL_SELF_SHARE,
	COL_TOTAL_SHARE,
	COL_FILE,
	COL_BINARY,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_top);

/* By falling self, then total, then name. */
static int
compare_functions(const void *a, const void *b)
{
	const PfsFunctionTotal *left = a;
	const PfsFunctionTotal *right = b;

	if (left->self.value != right->self.value)
		return left->self.value > right->self.value ? -1 : 1;
	if (left->total.value != right->total.value)
		return left->total.value > right->total.value ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void
put_row(const PfsRows *rows, const PfsFunctionTotal *function, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	PfsFrameSource source = pfs_frame_source(function->node);

	values[COL_FUNCTION] = pfs_text_or_null(function->name, &nulls[COL_FUNCTION]);
	values[COL_SELF] = Int64GetDatum(function->self.value);
	values[COL_TOTAL] = Int64GetDatum(function->total.value);
	nulls[COL_SELF_SHARE] = nulls[COL_TOTAL_SHARE] = whole == 0;
	values[COL_SELF_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->self.value / (double) whole);
	values[COL_TOTAL_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->total.value / (double) whole);
	values[COL_FILE] = pfs_text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_BINARY] = pfs_text_or_null(source.binary, &nulls[COL_BINARY]);
	pfs_rows_put(rows, values, nulls);
}

/*
 * top(selector, from_ts, to_ts, max_rows, focus, ignore, show, hide)
 */
PGDLLEXPORT Datum
profstore_top(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	int64 max_rows = PG_ARGISNULL(ARG_MAX_ROWS) ? PG_INT64_MAX : PG_GETARG_INT32(ARG_MAX_ROWS);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_filters_get(fcinfo, ARG_FILTERS);
	PfsFrameTree *tree;
	PfsFunctionTotal *functions;
	uint32 count;

	if (max_rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_rows must not be negative"),
				 errhint("NULL takes the limit away.")));
	tree = pfs_frame_tree_query(selection, &filters, false);
	count = pfs_function_totals(tree, &functions);
	qsort(functions, count, sizeof(PfsFunctionTotal), compare_functions);
	for (uint32 i = 0; i < count && i < max_rows; i++)
		put_row(&rows, &functions[i], tree->nodes[0].total.value);
	return (Datum) 0;
}
