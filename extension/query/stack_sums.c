/*
 * stack_sums.c
 *		Adding sample values, or sums that stand for them, to their stacks.
 */
#include "query/stack_sums.h"

#include <math.h>

#include "common/int.h"
#include "port/pg_bitutils.h"
#include "query/allocate.h"
#include "query/hash.h"
#include "query/sample_scan.h"
#include "query/scrapes.h"
#include "query/series_table.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define INITIAL_PAGES 1024

/*
 * Sums of the stacks of one page: PAGE_STACKS neighbouring ids. Programs' stacks have neighbouring ids, and segments
 * bring them in order, so the next sum is mostly in the same page, and the result needs no sorting but of pages. Few of the
 * ids are leaves, so a page has sums for those that have come, side by side: sums of many series stay in the CPU's cache.
 */
#define PAGE_BITS	  6
#define PAGE_STACKS	  (1 << PAGE_BITS) /* as many as a word has bits */
#define PAGE_CAPACITY 8				   /* at first */

typedef struct StackPage
{
	int64 number;	   /* stack id >> PAGE_BITS */
	uint64 added;	   /* bits of the stacks that have a value, though it may be 0 */
	int64 *values;	   /* in the order of the stacks */
	double *fractions; /* what divisions left over, of instant types; else NULL */
	uint8 capacity;
	char status;
} StackPage;

#define SH_PREFIX		   page_table
#define SH_ELEMENT_TYPE	   StackPage
#define SH_KEY_TYPE		   int64
#define SH_KEY			   number
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct StackTable
{
	page_table_hash *pages;
	bool has_fractions;
	StackPage *last; /* the page that was used last; NULL: none yet */
} StackTable;

void
pfs_values_out_of_range(void)
{
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("sum of sample values is out of range for bigint"),
					errhint("Take a shorter time range or fewer series.")));
}

int64
pfs_add_values(int64 a, int64 b)
{
	int64 sum;

	if (pg_add_s64_overflow(a, b, &sum))
		pfs_values_out_of_range();
	return sum;
}

static pg_noinline void
turn_to_page(StackTable *table, int64 number)
{
	bool found;
	StackPage *page = page_table_insert(table->pages, number, &found);

	if (!found)
	{
		page->added = 0;
		page->capacity = PAGE_CAPACITY;
		page->values = palloc(sizeof(int64) * PAGE_CAPACITY);
		page->fractions = table->has_fractions ? palloc(sizeof(double) * PAGE_CAPACITY) : NULL;
	}
	table->last = page;
}

/* Makes a sum of 0 at a place among those of a page. */
static pg_noinline void
insert_sum(StackPage *page, int place, uint64 bit)
{
	int count = pg_popcount64(page->added);
	Size behind = (Size) (count - place);

	if (count == page->capacity)
	{
		page->capacity = (uint8) (page->capacity * 2);
		page->values = repalloc(page->values, sizeof(int64) * page->capacity);
		if (page->fractions != NULL)
			page->fractions = repalloc(page->fractions, sizeof(double) * page->capacity);
	}
	memmove(page->values + place + 1, page->values + place, sizeof(int64) * behind);
	page->values[place] = 0;
	if (page->fractions != NULL)
	{
		memmove(page->fractions + place + 1, page->fractions + place, sizeof(double) * behind);
		page->fractions[place] = 0;
	}
	page->added |= bit;
}

/* Turns to a stack; its place among the sums of the last page. */
static inline int
turn_to_stack(StackTable *table, int64 stack_id)
{
	uint64 bit = UINT64CONST(1) << (stack_id & (PAGE_STACKS - 1));
	int place;

	if (table->last == NULL || stack_id >> PAGE_BITS != table->last->number)
		turn_to_page(table, stack_id >> PAGE_BITS);
	place = pg_popcount64(table->last->added & (bit - 1));
	if (!(table->last->added & bit))
		insert_sum(table->last, place, bit);
	return place;
}

static void
add_to_stack(StackTable *table, int64 stack_id, int64 value)
{
	int place = turn_to_stack(table, stack_id);
	int64 *sum = &table->last->values[place];

	*sum = pfs_add_values(*sum, value);
}

/* Rows of one stack are mostly neighbours; those whose sum does not fit are added one by one. */
static void
add_block(StackTable *table, const PfsSampleBlock *block)
{
	uint32 row = 0;

	while (row < block->row_count)
	{
		int64 stack_id = block->stacks[row];
		int64 sum = block->values[row++];
		int64 more;

		while (row < block->row_count && block->stacks[row] == stack_id &&
			   !pg_add_s64_overflow(sum, block->values[row], &more))
		{
			sum = more;
			row++;
		}
		add_to_stack(table, stack_id, sum);
	}
}

static void
sum_delta(const PfsSelection *selection, StackTable *table)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE, PFS_PART_PAIRS);
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		add_block(table, &block);
	pfs_sample_scan_end(scan);
}

/*
 * Sums per (series, stack) and scrapes per series first: a sum can be divided only when all times are known. Two scans,
 * since segments have their sums by stack and by time in two tables.
 */
static void
sum_instant(const PfsSelection *selection, StackTable *table)
{
	const int64 *scrape_counts = pfs_count_scrapes(selection);
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

		int place = turn_to_stack(table, entry->key.id);

		table->last->values[place] =
			pfs_add_values(table->last->values[place], entry->value / scrapes);
		table->last->fractions[place] += (double) (entry->value % scrapes) / (double) scrapes;
	}
}

/*
 * The values of one scrape of each series.
 */
static void
sum_chosen(const PfsSelection *selection, StackTable *table)
{
	const TimestampTz *chosen = pfs_choose_scrapes(selection);
	PfsSelection narrow = *selection;
	const PfsSeries *series = NULL;
	PfsSampleScan *scan;
	PfsSampleBlock block;

	narrow.from = narrow.to = selection->from;
	for (int i = 0; i < selection->distinct_count; i++)
	{
		if (chosen[i] == DT_NOBEGIN)
			continue;
		narrow.from = narrow.from == narrow.to ? chosen[i] : Min(narrow.from, chosen[i]);
		narrow.to = Max(narrow.to, chosen[i] + 1);
	}
	scan = pfs_sample_scan_begin(&narrow, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK |
											  PFS_SAMPLE_VALUE);
	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			if (block.times[row] == chosen[series->index])
				add_to_stack(table, block.stacks[row], block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
}

static int
compare_pages(const void *a, const void *b)
{
	int64 left = ((const StackPage *) a)->number;
	int64 right = ((const StackPage *) b)->number;

	return (left > right) - (left < right);
}

/* Pages in order of their numbers. */
static StackPage *
sorted_pages(const StackTable *table)
{
	StackPage *pages = PFS_ARRAY(StackPage, table->pages->members);
	page_table_iterator iterator;
	StackPage *page;
	uint32 count = 0;

	page_table_start_iterate(table->pages, &iterator);
	while ((page = page_table_iterate(table->pages, &iterator)) != NULL)
		pages[count++] = *page;
	qsort(pages, count, sizeof(StackPage), compare_pages);
	return pages;
}

static int64
sum_in_page(const StackPage *page, int place)
{
	if (page->fractions == NULL)
		return page->values[place];
	return pfs_add_values(page->values[place], (int64) round(page->fractions[place]));
}

/* The stacks that do not sum to zero, in the given context. */
static PfsStackSums
list_sums(const StackTable *table, MemoryContext context)
{
	StackPage *pages = sorted_pages(table);
	PfsStackSums result = { 0, NULL };
	Size count = 0;

	for (uint32 i = 0; i < table->pages->members; i++)
		count += pg_popcount64(pages[i].added);
	if (count > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many stacks")));
	result.sums = MemoryContextAllocHuge(context, count * sizeof(PfsStackSum) + 1);
	for (uint32 i = 0; i < table->pages->members; i++)
	{
		int place = 0;

		for (uint64 bits = pages[i].added; bits != 0; bits &= bits - 1)
		{
			int64 value = sum_in_page(&pages[i], place++);

			if (value != 0)
				result.sums[result.count++] =
					(PfsStackSum){ pages[i].number * PAGE_STACKS + pg_rightmost_one_pos64(bits),
								   { value, 0 } };
		}
	}
	return result;
}

PfsStackSums
pfs_stack_sums(const PfsSelection *selection)
{
	MemoryContext result_context = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(result_context, "profstore stack sums", ALLOCSET_DEFAULT_SIZES);
	StackTable table = { NULL, !selection->delta && !pfs_picks_scrapes(selection) };
	PfsStackSums result;

	MemoryContextSwitchTo(context);
	table.pages = page_table_create(context, INITIAL_PAGES, NULL);
	if (selection->delta)
		sum_delta(selection, &table);
	else if (pfs_picks_scrapes(selection))
		sum_chosen(selection, &table);
	else
		sum_instant(selection, &table);
	result = list_sums(&table, result_context);
	MemoryContextSwitchTo(result_context);
	MemoryContextDelete(context);
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

PfsStackSums
pfs_stack_sums_join(const PfsStackSums *values, const PfsStackSums *bases)
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
	merged = pfs_stack_sums_join(&values, &bases);
	pfree(values.sums);
	pfree(bases.sums);
	return merged;
}
