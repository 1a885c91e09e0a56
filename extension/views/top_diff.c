/*
 * top_diff.c
 *		top_diff(): the changes of functions' costs between two selections.
 */
#include "tree/function_totals.h"

#include "base/srf.h"
#include "tree/frames/frame_source.h"
#include "views/comparison.h"
#include "views/view.h"

enum
{
	DIFF_FUNCTION,
	DIFF_BASE_SELF,
	DIFF_SELF,
	DIFF_SELF_DELTA,
	DIFF_BASE_TOTAL,
	DIFF_TOTAL,
	DIFF_TOTAL_DELTA,
	DIFF_FILE,
	DIFF_MAPPING,
	DIFF_COUNT
};

PG_FUNCTION_INFO_V1(profstore_top_diff);

static int128
change_of(PfsSides sides)
{
	int128 change = (int128) sides.value - sides.base;

	return change < 0 ? -change : change;
}

/*
 * Orders functions by the size of the change of self, then of total, both descending; growth before
 * shrinkage; then by name.
 */
static int
compare_changes(const void *a, const void *b)
{
	const PfsFunctionTotal *left = a;
	const PfsFunctionTotal *right = b;

	if (change_of(left->self) != change_of(right->self))
		return change_of(left->self) > change_of(right->self) ? -1 : 1;
	if (change_of(left->total) != change_of(right->total))
		return change_of(left->total) > change_of(right->total) ? -1 : 1;
	if ((left->total.value > left->total.base) != (right->total.value > right->total.base))
		return left->total.value > left->total.base ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int64
delta_of(PfsSides sides)
{
	return pfs_clip((int128) sides.value - sides.base);
}

static void
put_change(const PfsResult *result, const PfsFunctionTotal *function)
{
	Datum values[DIFF_COUNT];
	bool nulls[DIFF_COUNT] = { false };
	PfsFrameSource source = pfs_frame_source(function->location, function->line);

	values[DIFF_FUNCTION] = pfs_text_or_null(function->name, &nulls[DIFF_FUNCTION]);
	values[DIFF_BASE_SELF] = Int64GetDatum(function->self.base);
	values[DIFF_SELF] = Int64GetDatum(function->self.value);
	values[DIFF_SELF_DELTA] = Int64GetDatum(delta_of(function->self));
	values[DIFF_BASE_TOTAL] = Int64GetDatum(function->total.base);
	values[DIFF_TOTAL] = Int64GetDatum(function->total.value);
	values[DIFF_TOTAL_DELTA] = Int64GetDatum(delta_of(function->total));
	values[DIFF_FILE] = pfs_text_or_null(source.file, &nulls[DIFF_FILE]);
	values[DIFF_MAPPING] = pfs_text_or_null(source.mapping, &nulls[DIFF_MAPPING]);
	pfs_result_put(result, values, nulls);
}

PGDLLEXPORT Datum
profstore_top_diff(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = pfs_max_rows_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsComparison comparison = pfs_comparison_query(fcinfo);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count = pfs_function_totals(comparison.stacks, &filters, &functions, &whole);

	if (count == 0 && whole.value == 0 && whole.base == 0)
		pfs_selection_tell_empty(comparison.selection);
	count = pfs_function_totals_sort(functions, count, max_rows, compare_changes);
	for (uint32 i = 0; i < count; i++)
		put_change(&result, &functions[i]);
	return (Datum) 0;
}
