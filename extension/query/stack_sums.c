/*
 * stack_sums.c
 *		Scatter-add of sample values into hash tables keyed by stack.
 *
 * Segments are sorted by series, then stack: rows of one stack come in runs, which add up before they touch the table.
 */
#include "query/stack_sums.h"

#include <math.h>

#include "common/int.h"
#include "query/hash.h"
#include "query/sample_scan.h"
#include "query/series_table.h"
#include "utils/memutils.h"

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
	PfsSampleScan *scan = pfs_sample_scan_begin(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE);
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
 * Sums per (series, stack) and scrapes per series first: a sum can be divided only when all times are known.
 */
static void
sum_instant(const PfsSelection *selection, stack_table_hash *table)
{
	PfsSampleScan *scan = pfs_sample_scan_begin(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES |
															   PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE);
	pfs_series_table_hash *sums =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	pfs_series_table_hash *times =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	int64 *scrape_counts = palloc0((Size) (selection->distinct_count + 1) * sizeof(int64));
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
			pfs_series_table_get(times, series->index, block.times[row], &found);
			if (!found)
				scrape_counts[series->index]++;
			entry = pfs_series_table_get(sums, series->index, block.stacks[row], &found);
			entry->value = pfs_add_values(entry->value, block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);

	pfs_series_table_start_iterate(sums, &iterator);
	while ((entry = pfs_series_table_iterate(sums, &iterator)) != NULL)
	{
		int64 scrapes = scrape_counts[entry->key.series];

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
			result.sums[result.count++] = (PfsStackSum){ entry->stack_id, value };
	}
	MemoryContextSwitchTo(result_context);
	MemoryContextDelete(context);
	qsort(result.sums, result.count, sizeof(PfsStackSum), compare_stack_ids);
	return result;
}
