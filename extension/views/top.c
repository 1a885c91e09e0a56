/*
 * top.c
 *		top() and top_of(): the costs of functions.
 */
#include "tree/function_totals.h"

#include "base/srf.h"
#include "merge/merged.h"
#include "tree/frames/frame_kind.h"
#include "tree/frames/frame_source.h"
#include "views/view.h"

enum
{
	COL_FUNCTION,
	COL_SELF,
	COL_TOTAL,
	COL_SELF_SHARE,
	COL_TOTAL_SHARE,
	COL_FILE,
	COL_MAPPING,
	COL_KIND,
	COL_COUNT
};

PG_FUNCTION_INFO_V1(profstore_top);
PG_FUNCTION_INFO_V1(profstore_top_of);

/* Orders functions by self, then total, both descending, then name. */
static int
top_compare_functions(const void *a, const void *b)
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
top_put_row(const PfsResult *result, const PfsFunctionTotal *function, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	PfsFrameSource source = pfs_frame_source(function->location, function->line);
	const char *kind = pfs_frame_kind(source.mapping == NULL ? "" : source.mapping);

	values[COL_FUNCTION] = pfs_text_or_null(function->name, &nulls[COL_FUNCTION]);
	values[COL_SELF] = Int64GetDatum(function->self.value);
	values[COL_TOTAL] = Int64GetDatum(function->total.value);
	values[COL_SELF_SHARE] =
		pfs_share_or_null((double) function->self.value, (double) whole, &nulls[COL_SELF_SHARE]);
	values[COL_TOTAL_SHARE] =
		pfs_share_or_null((double) function->total.value, (double) whole, &nulls[COL_TOTAL_SHARE]);
	values[COL_FILE] = pfs_text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_MAPPING] = pfs_text_or_null(source.mapping, &nulls[COL_MAPPING]);
	values[COL_KIND] = pfs_text_or_null(*kind == '\0' ? NULL : kind, &nulls[COL_KIND]);
	pfs_result_put(result, values, nulls);
}

static void
top_put_functions(const PfsResult *result, PfsFunctionTotal *functions, uint32 count, int64 whole,
				  int64 max_rows)
{
	count = pfs_function_totals_sort(functions, count, max_rows, top_compare_functions);
	for (uint32 i = 0; i < count; i++)
		top_put_row(result, &functions[i], whole);
}

PGDLLEXPORT Datum
profstore_top(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = pfs_max_rows_get(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count =
		pfs_function_totals(pfs_stack_stream_begin(selection), &filters, &functions, &whole);

	if (count == 0 && whole.value == 0)
		pfs_selection_tell_empty(selection);
	top_put_functions(&result, functions, count, whole.value, max_rows);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_top_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = pfs_max_rows_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count =
		pfs_function_totals(pfs_merged_stream(fcinfo, "sums"), &filters, &functions, &whole);

	top_put_functions(&result, functions, count, whole.value, max_rows);
	return (Datum) 0;
}
