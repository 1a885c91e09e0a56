/*
 * tier_sums.c
 *		Sums rows by series, stack and bucket into a list, which is sorted at the end.
 *
 * Segments are sorted by series, stack and time, so the rows of a sum are neighbours and are summed
 * as they are read. If the table was compacted, the list is sorted already, which qsort() detects
 * quickly.
 */
#include "store/compact/tier_sums.h"

#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"

#include "base/arrays.h"
#include "store/compact/segment_merge.h"
#include "store/scan/block_scan.h"

/* A series and a time at which it was scraped. */
typedef struct ScrapeKey
{
	int64 series;
	int64 time;
} ScrapeKey;

typedef struct ScrapeEntry
{
	ScrapeKey key;
	char status;
} ScrapeEntry;

#define SH_PREFIX		   scrape_table
#define SH_ELEMENT_TYPE	   ScrapeEntry
#define SH_KEY_TYPE		   ScrapeKey
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) hash_bytes((const unsigned char *) &(k), sizeof(ScrapeKey))
#define SH_EQUAL(tb, a, b) ((a).series == (b).series && (a).time == (b).time)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define SCRAPES_AT_FIRST 64

typedef struct Summing
{
	const PfsTierSpec *spec;
	PfsTierRows *result;
	uint32 capacity; /* capacity of result->rows */
	scrape_table_hash *scrapes;
	/* series of the last row; last_is_instant holds for it if has_last is true */
	int64 last_series;
	bool last_is_instant;
	bool has_last;
} Summing;

static bool
is_instant(Summing *summing, int64 series)
{
	const PfsTierSpec *spec = summing->spec;
	uint32 at;

	/* Rows are sorted by series, so the answer mostly stays. */
	if (summing->has_last && summing->last_series == series)
		return summing->last_is_instant;
	at = pfs_lower_bound(spec->instant_series, 0, spec->instant_count, series);
	summing->last_series = series;
	summing->last_is_instant = at < spec->instant_count && spec->instant_series[at] == series;
	summing->has_last = true;
	return summing->last_is_instant;
}

static bool
is_same_sum(const PfsTierRow *a, const PfsTierRow *b)
{
	return a->bucket == b->bucket && a->stack == b->stack && a->series == b->series;
}

/*
 * Adds a row to the last sum if both have one key and the sum does not overflow; otherwise appends
 * the row.
 */
static void
tier_sums_add(Summing *summing, const PfsTierRow *row)
{
	PfsTierRows *result = summing->result;
	PfsTierRow *last = result->count > 0 ? &result->rows[result->count - 1] : NULL;
	int64 sum;

	if (last != NULL && is_same_sum(last, row) &&
		!pg_add_s64_overflow(last->value, row->value, &sum))
	{
		last->value = sum;
		return;
	}
	PFS_RESERVE(result->rows, summing->capacity, result->count + 1);
	/* A sum that overflows is continued in a second row with its key. */
	result->rows[result->count++] = *row;
}

/* Adds a row of an instant type, and records its scrape. */
static void
add_instant(Summing *summing, PfsTierRow *row, int64 time)
{
	ScrapeKey scrape = { row->series, time };
	/*
	 * A source that is a tier itself has its scrapes as rows with negative stacks; otherwise each
	 * time of a sample is a scrape.
	 */
	bool is_scrape = summing->spec->has_scrapes && row->stack < 0;
	bool found;

	if (is_scrape)
		scrape.time += pfs_scrape_offset(row->stack);
	/* The table holds each scrape once, however many stacks it has. */
	if (is_scrape || !summing->spec->has_scrapes)
		scrape_table_insert(summing->scrapes, scrape, &found);
	if (is_scrape)
		return;
	/* stack ids are not negative; a negative one must not be taken for a scrape */
	row->stack = Max(row->stack, 0);
	tier_sums_add(summing, row);
}

static void
tier_sums_add_block(Summing *summing, const PfsBlock *block)
{
	int64 width = summing->spec->width_us;

	for (uint32 i = 0; i < block->row_count; i++)
	{
		int64 time = block->values[0][i];
		PfsTierRow row = { block->values[1][i], block->values[2][i],
						   /* The bucket's start is the time of the sum. */
						   pfs_time_bucket(time, width) * width, block->values[3][i] };

		if (is_instant(summing, row.series))
			add_instant(summing, &row, time);
		else
			tier_sums_add(summing, &row);
	}
}

static int
tier_rows_compare(const void *a, const void *b)
{
	const PfsTierRow *left = a;
	const PfsTierRow *right = b;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	if (left->stack != right->stack)
		return left->stack < right->stack ? -1 : 1;
	return (left->bucket > right->bucket) - (left->bucket < right->bucket);
}

static void
tier_sums_add_scrapes(Summing *summing)
{
	int64 width = summing->spec->width_us;
	scrape_table_iterator iterator;
	ScrapeEntry *entry;

	scrape_table_start_iterate(summing->scrapes, &iterator);
	while ((entry = scrape_table_iterate(summing->scrapes, &iterator)) != NULL)
	{
		int64 bucket = pfs_time_bucket(entry->key.time, width) * width;
		PfsTierRow row = { entry->key.series, pfs_scrape_stack(entry->key.time - bucket), bucket,
						   0 };

		tier_sums_add(summing, &row);
	}
}

/* Sorts the list, adds up entries with equal keys, and drops sums of 0 of instant types. */
static void
tier_sums_finish(Summing *summing)
{
	PfsTierRows *result = summing->result;
	uint64 listed = result->count;

	/* Rows of several segments, and scrapes, are listed out of order. */
	qsort(result->rows, listed, sizeof(PfsTierRow), tier_rows_compare);
	result->count = 0;
	for (uint64 i = 0; i < listed; i++)
	{
		PfsTierRow row = result->rows[i];

		/* reads run ahead of writes in the list, so no unread entry is overwritten */
		tier_sums_add(summing, &row);
	}
	listed = result->count;
	result->count = 0;
	for (uint64 i = 0; i < listed; i++)
	{
		PfsTierRow *row = &result->rows[i];

		if (row->value != 0 || row->stack < 0 || !is_instant(summing, row->series))
			result->rows[result->count++] = *row;
	}
}

PfsTierRows
pfs_tier_sums(Relation relation, Snapshot snapshot, const PfsTierSpec *spec, int64 from, int64 to)
{
	AttrNumber columns[] = { spec->time, spec->series, spec->stack, spec->value };
	/* Filters include both ends; to is the first time that is not summed. */
	PfsBlockFilter filter = { spec->time, from, to - 1, NULL, 0 };
	PfsTierRows result = { 0 };
	Summing summing = { .spec = spec, .result = &result };
	PfsBlockScan *scan;
	PfsBlock block;

	summing.scrapes = scrape_table_create(CurrentMemoryContext, SCRAPES_AT_FIRST, NULL);
	scan = pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
												   .snapshot = snapshot,
												   .attribute_count = lengthof(columns),
												   .attnums = columns,
												   .filter_count = 1,
												   .filters = &filter });
	while (pfs_block_scan_next(scan, &block))
	{
		CHECK_FOR_INTERRUPTS();
		tier_sums_add_block(&summing, &block);
		result.read_count += block.row_count;
	}
	pfs_block_scan_end(scan);
	tier_sums_add_scrapes(&summing);
	scrape_table_destroy(summing.scrapes);
	tier_sums_finish(&summing);
	return result;
}
