/*
 * series_sums.c
 *		A hash table, which is emptied into a sort where it would grow too large.
 */
#include "query/series_sums.h"

#include "miscadmin.h"
#include "query/allocate.h"
#include "query/memory_peak.h"
#include "query/row_sorter.h"
#include "query/stack_sums.h"

/* Elements of the table at first, and at least. */
#define MIN_ELEMENTS 256

/*
 * Half of the memory is the table's, the other half the sort's; a table that grows needs the old one beside the new. Beyond half
 * of its elements it may grow before its threshold, where hashes crowd.
 */
PfsSeriesSums *
pfs_series_sums_begin(Size bytes)
{
	PfsSeriesSums *sums = palloc0(sizeof(PfsSeriesSums));

	sums->table = pfs_series_table_create(CurrentMemoryContext, MIN_ELEMENTS, NULL);
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
		int64 row[PFS_SUM_COLUMNS] = { entry->key.id, entry->key.series, entry->value };

		pfs_row_sorter_put(sums->sorter, row);
	}
	pfs_series_table_reset(sums->table);
}

static void
begin_reading(PfsSeriesSums *sums)
{
	sums->is_reading = true;
	if (sums->list != NULL)
		return;
	if (sums->sorter == NULL)
	{
		pfs_series_table_start_iterate(sums->table, &sums->iterator);
		return;
	}
	pfs_series_sums_spill(sums);
	pfs_row_sorter_sort(sums->sorter);
	sums->has_ahead = pfs_row_sorter_next(sums->sorter, sums->ahead);
}

static int
compare_keys(const void *a, const void *b)
{
	const PfsSeriesKey *left = &((const PfsSeriesEntry *) a)->key;
	const PfsSeriesKey *right = &((const PfsSeriesEntry *) b)->key;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->series > right->series) - (left->series < right->series);
}

/* What comes from the sort is in order. */
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
	pfs_series_table_destroy(sums->table);
	sums->table = NULL;
	qsort(sums->list, sums->list_count, sizeof(PfsSeriesEntry), compare_keys);
}

/* The sum of all rows of the next key. */
static bool
next_sorted(PfsSeriesSums *sums, PfsSeriesKey *key, int64 *value)
{
	if (!sums->has_ahead)
		return false;
	*key = (PfsSeriesKey){ sums->ahead[PFS_SUM_ID], (int32) sums->ahead[PFS_SUM_SERIES] };
	*value = 0;
	while (sums->has_ahead && sums->ahead[PFS_SUM_ID] == key->id &&
		   sums->ahead[PFS_SUM_SERIES] == key->series)
	{
		*value = pfs_add_values(*value, sums->ahead[PFS_SUM_VALUE]);
		sums->has_ahead = pfs_row_sorter_next(sums->sorter, sums->ahead);
	}
	return true;
}

bool
pfs_series_sums_next(PfsSeriesSums *sums, PfsSeriesKey *key, int64 *value)
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
	*value = entry->value;
	return true;
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
	pfree(sums);
}
