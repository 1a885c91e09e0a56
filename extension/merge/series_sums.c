/*
 * series_sums.c
 *		Keeps sums in a hash table, which is emptied into a sort if it would grow too large.
 */
#include "merge/series_sums.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/row_sorter.h"

/* Minimum number of elements of the table. */
#define MIN_ELEMENTS 256

/*
 * Makes an empty set of sums. Half of the memory is for the table, half for the sort. While a table
 * grows, the old and the new one exist, and it may grow when it is half full, if hashes collide
 * often.
 */
PfsSeriesSums *
pfs_series_sums_begin(Size bytes)
{
	PfsSeriesSums *sums = palloc0(sizeof(PfsSeriesSums));

	sums->table = pfs_series_table_create(CurrentMemoryContext, MIN_ELEMENTS, NULL);
	sums->carries.context = CurrentMemoryContext;
	sums->max_members = Max(bytes / 3 / sizeof(PfsSeriesEntry) / 2, MIN_ELEMENTS);
	sums->sorter_kb = pfs_row_sorter_kb(bytes / 2);
	return sums;
}

void
pfs_series_sums_spill(PfsSeriesSums *sums)
{
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	CHECK_FOR_INTERRUPTS();
	if (sums->sorter == NULL)
		sums->sorter = pfs_row_sorter_begin(PFS_SUM_COLUMNS, PFS_SUM_KEYS, sums->sorter_kb);
	pfs_series_table_start_iterate(sums->table, &iterator);
	while ((entry = pfs_series_table_iterate(sums->table, &iterator)) != NULL)
	{
		/* The columns of the key come first, and rows are sorted by them. */
		int64 row[PFS_SUM_COLUMNS] = { entry->key.id, entry->key.series, entry->value };

		pfs_row_sorter_put(sums->sorter, row);
	}
	/* Carries stay in memory: they are few, and belong to keys and not to rows. */
	pfs_series_table_reset(sums->table);
}

PfsSeriesSums *
pfs_series_sums_of(const PfsSelection *selection, PfsSegmentPart part, Size bytes)
{
	bool by_stack = part == PFS_PART_PAIRS;
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE |
									   (by_stack ? PFS_SAMPLE_STACK : PFS_SAMPLE_TIME),
								   part);
	PfsSeriesSums *sums = pfs_series_sums_begin(bytes);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		const int64 *ids = by_stack ? block.stacks : block.times;

		for (uint32 row = 0; row < block.row_count; row++)
		{
			series = pfs_selection_next_series(selection, series, block.series[row]);
			pfs_series_sums_add(sums, series->index, ids[row], block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
	return sums;
}

static void
begin_reading(PfsSeriesSums *sums)
{
	sums->is_reading = true;
	/* The list is sorted and complete. */
	if (sums->list != NULL)
		return;
	if (sums->sorter == NULL)
	{
		pfs_series_table_start_iterate(sums->table, &sums->iterator);
		return;
	}
	/* The sums that are left in the table go to the sort, too, so that each key is met once. */
	pfs_series_sums_spill(sums);
	pfs_row_sorter_sort(sums->sorter);
	sums->has_ahead = pfs_row_sorter_next(sums->sorter, sums->ahead);
}

static inline int
compare_keys(const PfsSeriesEntry *a, const PfsSeriesEntry *b)
{
	if (a->key.id != b->key.id)
		return a->key.id < b->key.id ? -1 : 1;
	return (a->key.series > b->key.series) - (a->key.series < b->key.series);
}

#define ST_SORT			 sort_entries
#define ST_ELEMENT_TYPE	 PfsSeriesEntry
#define ST_COMPARE(a, b) compare_keys(a, b)
#define ST_SCOPE		 static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * Sorts the sums. Those that were moved to the sort need nothing, because they are read in order
 * anyway.
 */
void
pfs_series_sums_sort(PfsSeriesSums *sums)
{
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	if (sums->sorter != NULL)
		return;
	sums->list = PFS_ARRAY(PfsSeriesEntry, sums->table->members);
	pfs_series_table_start_iterate(sums->table, &iterator);
	while ((entry = pfs_series_table_iterate(sums->table, &iterator)) != NULL)
		sums->list[sums->list_count++] = *entry;
	/* The list replaces the table. */
	pfs_series_table_destroy(sums->table);
	sums->table = NULL;
	sort_entries(sums->list, sums->list_count);
}

/* Returns the sum of all rows of the next key. */
static bool
next_sorted(PfsSeriesSums *sums, PfsSeriesKey *key, int128 *value)
{
	if (!sums->has_ahead)
		return false;
	*key = (PfsSeriesKey){ sums->ahead[PFS_SUM_ID], (int32) sums->ahead[PFS_SUM_SERIES] };
	/* The carry counts once for all rows of the key. */
	*value = pfs_with_carry(&sums->carries, key->series, key->id, 0);
	while (sums->has_ahead && sums->ahead[PFS_SUM_ID] == key->id &&
		   sums->ahead[PFS_SUM_SERIES] == key->series)
	{
		*value += sums->ahead[PFS_SUM_VALUE];
		sums->has_ahead = pfs_row_sorter_next(sums->sorter, sums->ahead);
	}
	return true;
}

bool
pfs_series_sums_next(PfsSeriesSums *sums, PfsSeriesKey *key, int128 *value)
{
	const PfsSeriesEntry *entry;

	if (!sums->is_reading)
		begin_reading(sums);
	if (sums->sorter != NULL)
		return next_sorted(sums, key, value);
	if (sums->list != NULL)
		entry = sums->next < sums->list_count ? &sums->list[sums->next++] : NULL;
	else
		entry = pfs_series_table_iterate(sums->table, &sums->iterator);
	if (entry == NULL)
		return false;
	*key = entry->key;
	*value = pfs_with_carry(&sums->carries, key->series, key->id, entry->value);
	return true;
}

/* Returns true if the sort's next row has this key or an earlier one. */
static bool
is_ahead_up_to(const PfsSeriesSums *sums, const PfsSeriesKey *key)
{
	return sums->has_ahead &&
		   (sums->ahead[PFS_SUM_ID] < key->id ||
			(sums->ahead[PFS_SUM_ID] == key->id && sums->ahead[PFS_SUM_SERIES] <= key->series));
}

bool
pfs_series_sums_find(PfsSeriesSums *sums, const PfsSeriesKey *key, int128 *value)
{
	PfsSeriesKey next;

	if (!sums->is_reading)
		begin_reading(sums);
	if (sums->sorter == NULL)
	{
		const PfsSeriesEntry *entry = pfs_series_table_lookup(sums->table, *key);

		if (entry != NULL)
			*value = pfs_with_carry(&sums->carries, key->series, key->id, entry->value);
		return entry != NULL;
	}
	/*
	 * Keys are asked for in ascending order, so those before the wanted one are passed over for
	 * good.
	 */
	while (is_ahead_up_to(sums, key) && next_sorted(sums, &next, value))
	{
		if (next.id == key->id && next.series == key->series)
			return true;
	}
	return false;
}

void
pfs_series_sums_end(PfsSeriesSums *sums)
{
	pfs_memory_look();
	if (sums->table != NULL)
		pfs_series_table_destroy(sums->table);
	if (sums->list != NULL)
		pfree(sums->list);
	if (sums->sorter != NULL)
		pfs_row_sorter_end(sums->sorter);
	if (sums->carries.table != NULL)
		pfs_series_table_destroy(sums->carries.table);
	pfree(sums);
}
