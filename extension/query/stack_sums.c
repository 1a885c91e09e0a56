/*
 * stack_sums.c
 *		Scatter-add of sample values into hash tables keyed by stack.
 *
 * Segments are sorted by series, then stack: rows of one stack come in runs, which add up before they touch the table.
 */
#include "query/stack_sums.h"

#include <math.h>

#include "common/int.h"
#include "query/allocate.h"
#include "query/hash.h"
#include "query/sample_scan.h"
#include "query/series_table.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define INITIAL_STACKS 1024

/* A stack's sum; of an instant type the whole part, with what the divisions left over beside it. */
typedef struct StackEntry
{
	int64 stack_id;
	int64 value;
	double fraction;
	char status;
} StackEntry;

#define SH_PREFIX		   stack_table
#define SH_ELEMENT_TYPE	   StackEntry
#define SH_KEY_TYPE		   int64
#define SH_KEY			   stack_id
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

int64
pfs_add_values(int64 a, int64 b)
{
	int64 sum;

	if (pg_add_s64_overflow(a, b, &sum))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("sum of sample values is out of range for bigint"),
						errhint("Take a shorter time range or fewer series.")));
	return sum;
}

static void
add_to_stack(stack_table_hash *table, int64 stack_id, int64 value, double fraction)
{
	bool found;
	StackEntry *entry = stack_table_insert(table, stack_id, &found);

	if (!found)
	{
		entry->value = 0;
		entry->fraction = 0;
	}
	entry->value = pfs_add_values(entry->value, value);
	entry->fraction += fraction;
}

static void
sum_delta(const PfsSelection *selection, stack_table_hash *table)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE, PFS_PART_PAIRS);
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		uint32 row = 0;

		while (row < block.row_count)
		{
			int64 stack_id = block.stacks[row];
			int64 sum = block.values[row];

			for (row++; row < block.row_count && block.stacks[row] == stack_id; row++)
				sum = pfs_add_values(sum, block.values[row]);
			add_to_stack(table, stack_id, sum, 0);
		}
	}
	pfs_sample_scan_end(scan);
}

/*
 * Counts the scrapes (distinct times) of each series.
 */
static int64 *
count_scrapes(const PfsSelection *selection)
{
	PfsSampleScan *scan = pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES,
													 PFS_PART_SCRAPES);
	pfs_series_table_hash *times =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	int64 *counts = palloc0((Size) (selection->distinct_count + 1) * sizeof(int64));
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count && block.scrapes != NULL; row++)
		{
			bool found;

			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			pfs_series_table_get(times, series->index, block.scrapes[row], &found);
			if (!found)
				counts[series->index]++;
		}
	}
	pfs_sample_scan_end(scan);
	return counts;
}

/*
 * Sums per (series, stack) and scrapes per series first: a sum can be divided only when all times are known. Two scans,
 * since segments have their sums by stack and by time in two tables.
 */
static void
sum_instant(const PfsSelection *selection, stack_table_hash *table)
{
	const int64 *scrape_counts = count_scrapes(selection);
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE,
								   PFS_PART_PAIRS);
	pfs_series_table_hash *sums =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			bool found;

			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			entry = pfs_series_table_get(sums, series->index, block.stacks[row], &found);
			entry->value = pfs_add_values(entry->value, block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);

	pfs_series_table_start_iterate(sums, &iterator);
	while ((entry = pfs_series_table_iterate(sums, &iterator)) != NULL)
	{
		/* sums without a scrape beside them are none that retention has made */
		int64 scrapes = Max(scrape_counts[entry->key.series], 1);

		add_to_stack(table, entry->key.id, entry->value / scrapes,
					 (double) (entry->value % scrapes) / (double) scrapes);
	}
}

static int
compare_stack_ids(const void *a, const void *b)
{
	int64 left = ((const PfsStackSum *) a)->stack_id;
	int64 right = ((const PfsStackSum *) b)->stack_id;

	return (left > right) - (left < right);
}

PfsStackSums
pfs_stack_sums(const PfsSelection *selection)
{
	MemoryContext result_context = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(result_context, "profstore stack sums", ALLOCSET_DEFAULT_SIZES);
	PfsStackSums result = { 0, NULL };
	stack_table_hash *table;
	stack_table_iterator iterator;
	StackEntry *entry;

	MemoryContextSwitchTo(context);
	table = stack_table_create(context, INITIAL_STACKS, NULL);
	if (selection->delta)
		sum_delta(selection, table);
	else
		sum_instant(selection, table);

	result.sums =
		MemoryContextAllocHuge(result_context, (Size) table->members * sizeof(PfsStackSum) + 1);
	stack_table_start_iterate(table, &iterator);
	while ((entry = stack_table_iterate(table, &iterator)) != NULL)
	{
		int64 value = pfs_add_values(entry->value, (int64) round(entry->fraction));

		if (value != 0)
			result.sums[result.count++] = (PfsStackSum){ entry->stack_id, { value, 0 } };
	}
	MemoryContextSwitchTo(result_context);
	MemoryContextDelete(context);
	qsort(result.sums, result.count, sizeof(PfsStackSum), compare_stack_ids);
	return result;
}

static int64
range_length(const PfsSelection *selection)
{
	if (TIMESTAMP_NOT_FINITE(selection->from) || TIMESTAMP_NOT_FINITE(selection->to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a rate needs time ranges with two ends"),
						errhint("With absolute => true, sums are compared, whatever the ranges.")));
	return selection->to - selection->from;
}

/*
 * Multiplies by numerator / denominator, which is at least 1, and rounds halves away from 0.
 */
static int64
scale_value(int64 value, int64 numerator, int64 denominator)
{
	int128 product = (int128) value * numerator;
	int128 half = denominator / 2;
	int128 scaled = (product + (product < 0 ? -half : half)) / denominator;

	if (scaled > PG_INT64_MAX || scaled < PG_INT64_MIN)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("scaled sum of sample values is out of range for bigint"),
						errhint("Compare ranges of similar length.")));
	return (int64) scaled;
}

static void
scale_sums(PfsStackSums *sums, int64 numerator, int64 denominator)
{
	/* an empty range has no values */
	if (numerator == denominator || denominator == 0)
		return;
	for (uint32 i = 0; i < sums->count; i++)
		sums->sums[i].sides.value = scale_value(sums->sums[i].sides.value, numerator, denominator);
}

/* Merges two sorted lists. */
static PfsStackSums
merge_sides(const PfsStackSums *values, const PfsStackSums *bases)
{
	PfsStackSums merged = { 0, PFS_ARRAY(PfsStackSum, (Size) values->count + bases->count) };
	uint32 i = 0;
	uint32 j = 0;

	while (i < values->count || j < bases->count)
	{
		const PfsStackSum *value = i < values->count ? &values->sums[i] : NULL;
		const PfsStackSum *base = j < bases->count ? &bases->sums[j] : NULL;
		PfsStackSum *sum = &merged.sums[merged.count++];

		if (value != NULL && base != NULL && value->stack_id != base->stack_id)
		{
			if (value->stack_id < base->stack_id)
				base = NULL;
			else
				value = NULL;
		}
		sum->stack_id = value != NULL ? value->stack_id : base->stack_id;
		sum->sides.value = value != NULL ? value->sides.value : 0;
		sum->sides.base = base != NULL ? base->sides.value : 0;
		i += value != NULL;
		j += base != NULL;
	}
	return merged;
}

PfsStackSums
pfs_stack_sums_compare(const PfsSelection *selection, const PfsSelection *base, bool by_rate)
{
	PfsStackSums values;
	PfsStackSums bases;
	PfsStackSums merged;

	if (strcmp(selection->profile_type, base->profile_type) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("selectors name different profile types"),
						errdetail("Values of %s and %s do not compare.", base->profile_type,
								  selection->profile_type)));
	by_rate = by_rate && selection->delta && base->delta;
	values = pfs_stack_sums(selection);
	bases = pfs_stack_sums(base);
	if (by_rate)
	{
		int64 value_length = range_length(selection);
		int64 base_length = range_length(base);
		int64 longer = Max(value_length, base_length);

		scale_sums(&values, longer, value_length);
		scale_sums(&bases, longer, base_length);
	}
	merged = merge_sides(&values, &bases);
	pfree(values.sums);
	pfree(bases.sums);
	return merged;
}
