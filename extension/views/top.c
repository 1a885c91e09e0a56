/*
 * top.c
 *		top() and top_diff(): functions by what they cost, and by what changed.
 */
#include "tree/function_totals.h"

#include "lib/binaryheap.h"

#include "base/srf.h"
#include "merge/merged.h"
#include "tree/comparison.h"

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
	COL_MAPPING,
	COL_COUNT
};

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

PG_FUNCTION_INFO_V1(profstore_top);
PG_FUNCTION_INFO_V1(profstore_top_diff);
PG_FUNCTION_INFO_V1(profstore_top_of);

/* NULL is no limit. */
static int64
get_max_rows(FunctionCallInfo fcinfo, int argument)
{
	int64 max_rows = PG_ARGISNULL(argument) ? PG_INT64_MAX : PG_GETARG_INT32(argument);

	if (max_rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_rows must not be negative"),
				 errhint("NULL takes the limit away.")));
	return max_rows;
}

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

typedef int (*CompareFunctions)(const void *a, const void *b);

static int
compare_in_heap(Datum a, Datum b, void *compare)
{
	return (*(CompareFunctions *) compare)(DatumGetPointer(a), DatumGetPointer(b));
}

/* Moves the first functions, so many of them, before all others, which are lost. */
static void
keep_first(PfsFunctionTotal *functions, uint32 count, uint32 limit, CompareFunctions compare)
{
	binaryheap *heap = binaryheap_allocate((int) limit, compare_in_heap, &compare);

	for (uint32 i = 0; i < limit; i++)
		binaryheap_add_unordered(heap, PointerGetDatum(&functions[i]));
	binaryheap_build(heap);
	for (uint32 i = limit; i < count; i++)
	{
		PfsFunctionTotal *last = (PfsFunctionTotal *) DatumGetPointer(binaryheap_first(heap));

		if (compare(&functions[i], last) >= 0)
			continue;
		*last = functions[i];
		binaryheap_replace_first(heap, PointerGetDatum(last));
	}
	binaryheap_free(heap);
}

/* Puts the first functions in order, up to a limit; returns how many they are. */
static uint32
sort_first(PfsFunctionTotal *functions, uint32 count, int64 limit, CompareFunctions compare)
{
	if (limit > 0 && limit < count / 4)
	{
		keep_first(functions, count, (uint32) limit, compare);
		count = (uint32) limit;
	}
	qsort(functions, count, sizeof(PfsFunctionTotal), compare);
	return (uint32) Min(limit, count);
}

static void
put_row(const PfsResult *result, const PfsFunctionTotal *function, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	PfsFrameSource source = pfs_frame_source(function->location, function->line);

	values[COL_FUNCTION] = pfs_text_or_null(function->name, &nulls[COL_FUNCTION]);
	values[COL_SELF] = Int64GetDatum(function->self.value);
	values[COL_TOTAL] = Int64GetDatum(function->total.value);
	nulls[COL_SELF_SHARE] = nulls[COL_TOTAL_SHARE] = whole == 0;
	values[COL_SELF_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->self.value / (double) whole);
	values[COL_TOTAL_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->total.value / (double) whole);
	values[COL_FILE] = pfs_text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_MAPPING] = pfs_text_or_null(source.mapping, &nulls[COL_MAPPING]);
	pfs_result_put(result, values, nulls);
}

static void
put_functions(const PfsResult *result, PfsFunctionTotal *functions, uint32 count, int64 whole,
			  int64 max_rows)
{
	count = sort_first(functions, count, max_rows, compare_functions);
	for (uint32 i = 0; i < count; i++)
		put_row(result, &functions[i], whole);
}

/*
 * top(selector, from_ts, to_ts, max_rows, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_top(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = get_max_rows(fcinfo, ARG_MAX_ROWS);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, ARG_FILTERS);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count =
		pfs_function_totals(pfs_stack_stream_begin(selection), &filters, &functions, &whole);

	put_functions(&result, functions, count, whole.value, max_rows);
	return (Datum) 0;
}

/*
 * top_of(sums, max_rows, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_top_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = get_max_rows(fcinfo, 1);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, 2);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count = pfs_function_totals(pfs_merged_stream(fcinfo, 0), &filters, &functions, &whole);

	put_functions(&result, functions, count, whole.value, max_rows);
	return (Datum) 0;
}

static int128
change_of(PfsSides sides)
{
	int128 change = (int128) sides.value - sides.base;

	return change < 0 ? -change : change;
}

/* By falling change of self, then of total, growth before shrinkage; then name. */
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

/*
 * top_diff(selector, base_from, base_to, from_ts, to_ts, base_selector, absolute, max_rows, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_top_diff(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	int64 max_rows = get_max_rows(fcinfo, PFS_COMPARISON_ARG_LIMIT);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, PFS_COMPARISON_ARG_FILTERS);
	PfsFunctionTotal *functions;
	PfsSides whole;
	uint32 count =
		pfs_function_totals(pfs_comparison_query(fcinfo).stacks, &filters, &functions, &whole);

	count = sort_first(functions, count, max_rows, compare_changes);
	for (uint32 i = 0; i < count; i++)
		put_change(&result, &functions[i]);
	return (Datum) 0;
}
