/*
 * tier_sums.c
 *		A hash table of sums, read off in the order of rows.
 *
 * Segments are sorted by series, stack and time: rows of one sum come in runs, which add up before
 * they touch the table.
 */
#include "store/tier_sums.h"

#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/block_scan.h"
#include "store/merge.h"

typedef struct SumKey
{
	int64 series;
	int64 stack;
	int64 bucket;
} SumKey;

typedef struct SumEntry
{
	SumKey key;
	int64 value;
	char status;
} SumEntry;

#define SH_PREFIX		   sum_table
#define SH_ELEMENT_TYPE	   SumEntry
#define SH_KEY_TYPE		   SumKey
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) hash_bytes((const unsigned char *) &(k), sizeof(SumKey))
#define SH_EQUAL(tb, a, b) \
	((a).stack == (b).stack && (a).bucket == (b).bucket && (a).series == (b).series)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define SUMS_AT_FIRST 4096

typedef struct Summing
{
	const PfsTierSpec *spec;
	sum_table_hash *table;
	MemoryContext result_context;
	uint64 full_count; /* sums that were at the end of int8 */
	uint64 full_capacity;
	PfsTierRow *full;
	int64 last_series; /* what is known of the series that was met last */
	bool last_is_instant;
	bool has_last;
} Summing;

static bool
is_instant(Summing *summing, int64 series)
{
	const PfsTierSpec *spec = summing->spec;
	uint32 low = 0;
	uint32 high = spec->instant_count;

	if (summing->has_last && summing->last_series == series)
		return summing->last_is_instant;
	while (low < high)
	{
		uint32 middle = low + (high - low) / 2;

		if (spec->instant_series[middle] < series)
			low = middle + 1;
		else
			high = middle;
	}
	summing->last_series = series;
	summing->last_is_instant = low < spec->instant_count && spec->instant_series[low] == series;
	summing->has_last = true;
	return summing->last_is_instant;
}

static void
keep_full(Summing *summing, const SumEntry *entry)
{
	if (summing->full_count == summing->full_capacity)
	{
		Size capacity = Max(summing->full_capacity * 2, 16);

		summing->full = summing->full == NULL
							? palloc(sizeof(PfsTierRow) * capacity)
							: repalloc_huge(summing->full, sizeof(PfsTierRow) * capacity);
		summing->full_capacity = capacity;
	}
	summing->full[summing->full_count++] =
		(PfsTierRow){ entry->key.series, entry->key.stack, entry->key.bucket, entry->value };
}

static void
add(Summing *summing, const SumKey *key, int64 value)
{
	bool found;
	SumEntry *entry = sum_table_insert(summing->table, *key, &found);

	if (!found)
		entry->value = 0;
	if (pg_add_s64_overflow(entry->value, value, &entry->value))
	{
		/* undone modulo 2^64 */
		entry->value = (int64) ((uint64) entry->value - (uint64) value);
		keep_full(summing, entry);
		entry->value = value;
	}
}

/* A row of an instant type: its value, and its scrape. */
static void
add_instant(Summing *summing, SumKey key, int64 time, int64 value)
{
	if (summing->spec->has_scrapes)
	{
		/* what a tier holds is one or the other */
		if (key.stack < 0)
			key.stack = pfs_scrape_stack(time + pfs_scrape_offset(key.stack) - key.bucket);
		add(summing, &key, value);
		return;
	}
	/* no stack has such an id; its value counts as the empty stack's rather than as a scrape */
	key.stack = Max(key.stack, 0);
	add(summing, &key, value);
	key.stack = pfs_scrape_stack(time - key.bucket);
	add(summing, &key, 0);
}

static void
add_block(Summing *summing, const PfsBlock *block)
{
	const int64 *times = block->values[0];
	const int64 *series = block->values[1];
	const int64 *stacks = block->values[2];
	const int64 *values = block->values[3];
	int64 width = summing->spec->width_us;
	uint32 row = 0;

	while (row < block->row_count)
	{
		SumKey key = { series[row], stacks[row], pfs_time_bucket(times[row], width) * width };
		int64 value = values[row];

		if (is_instant(summing, key.series))
		{
			add_instant(summing, key, times[row], value);
			row++;
			continue;
		}
		for (row++;
			 row < block->row_count && series[row] == key.series && stacks[row] == key.stack &&
			 times[row] >= key.bucket && times[row] - key.bucket < width;
			 row++)
		{
			int64 sum;

			if (pg_add_s64_overflow(value, values[row], &sum))
				break;
			value = sum;
		}
		add(summing, &key, value);
	}
}

static int
compare_rows(const void *a, const void *b)
{
	const PfsTierRow *left = a;
	const PfsTierRow *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return (left->bucket > right->bucket) - (left->bucket < right->bucket);
}

/* Moves the sums out of the table. */
static void
collect(Summing *summing, PfsTierRows *result)
{
	sum_table_iterator iterator;
	SumEntry *entry;

	result->rows = MemoryContextAllocHuge(summing->result_context,
										  sizeof(PfsTierRow) *
											  (summing->table->members + summing->full_count + 1));
	sum_table_start_iterate(summing->table, &iterator);
	while ((entry = sum_table_iterate(summing->table, &iterator)) != NULL)
	{
		if (entry->value == 0 && entry->key.stack >= 0 && is_instant(summing, entry->key.series))
			continue;
		result->rows[result->count++] =
			(PfsTierRow){ entry->key.series, entry->key.stack, entry->key.bucket, entry->value };
	}
	for (uint64 i = 0; i < summing->full_count; i++)
		result->rows[result->count++] = summing->full[i];
	qsort(result->rows, result->count, sizeof(PfsTierRow), compare_rows);
}

PfsTierRows
pfs_tier_sums(Relation relation, Snapshot snapshot, const PfsTierSpec *spec, int64 from, int64 to)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore tier sums", ALLOCSET_DEFAULT_SIZES);
	Summing summing = { .spec = spec, .result_context = MemoryContextSwitchTo(context) };
	AttrNumber columns[] = { spec->time, spec->series, spec->stack, spec->value };
	PfsBlockFilter filter = { spec->time, from, to - 1, NULL, 0 };
	PfsTierRows result = { 0, 0, NULL };
	PfsBlockScan *scan;
	PfsBlock block;

	summing.table = sum_table_create(context, SUMS_AT_FIRST, NULL);
	scan = pfs_block_scan_begin(relation, snapshot, lengthof(columns), columns, 1, &filter);
	while (pfs_block_scan_next(scan, &block))
	{
		CHECK_FOR_INTERRUPTS();
		add_block(&summing, &block);
		result.read_count += block.row_count;
	}
	pfs_block_scan_end(scan);
	collect(&summing, &result);
	MemoryContextSwitchTo(summing.result_context);
	MemoryContextDelete(context);
	return result;
}
