/*
 * series_sums.h
 *		Sums by (series or group, an int64 id), in a share of work_mem, and on disk beyond that.
 */
#ifndef PFS_SERIES_SUMS_H
#define PFS_SERIES_SUMS_H

#include "profstore.h"

#include "base/row_sorter.h"
#include "base/series_table.h"
#include "merge/carries.h"
#include "select/sample_scan.h"

/* Columns of sums in the sort. */
enum
{
	PFS_SUM_ID,
	PFS_SUM_SERIES,
	PFS_SUM_KEYS,
	PFS_SUM_VALUE = PFS_SUM_KEYS,
	PFS_SUM_COLUMNS
};

typedef struct PfsSeriesSums
{
	pfs_series_table_hash *table; /* NULL: all sums are in the list */
	uint64 max_members;			  /* most entries of the table */
	int sorter_kb;
	PfsRowSorter *sorter; /* NULL: all sums are in the table or the list */
	PfsCarries carries;	  /* carries of all sums */
	PfsSeriesEntry *list; /* sorted by id, then series; NULL: not sorted */
	uint32 list_count;
	uint32 next;
	bool is_reading;
	pfs_series_table_iterator iterator;
	int64 ahead[PFS_SUM_COLUMNS]; /* next row of the sort, if has_ahead is true */
	bool has_ahead;
} PfsSeriesSums;

/* Makes an empty set of sums that uses at most bytes, in CurrentMemoryContext. */
PfsSeriesSums *pfs_series_sums_begin(Size bytes);

/*
 * Sums the samples of a selection by PfsSeries.index and stack (PFS_PART_PAIRS), or by
 * PfsSeries.index and time (PFS_PART_SCRAPES). Uses at most bytes, in CurrentMemoryContext.
 */
PfsSeriesSums *pfs_series_sums_of(const PfsSelection *selection, PfsSegmentPart part, Size bytes);

/* Moves all sums from the table to the sort. */
void pfs_series_sums_spill(PfsSeriesSums *sums);

static inline PfsSeriesEntry *
pfs_series_sums_entry(PfsSeriesSums *sums, int32 series, int64 id)
{
	bool found;

	if (sums->table->members >= sums->max_members)
		pfs_series_sums_spill(sums);
	return pfs_series_table_get(sums->table, series, id, &found);
}

static inline void
pfs_series_sums_add(PfsSeriesSums *sums, int32 series, int64 id, int64 value)
{
	PfsSeriesEntry *entry = pfs_series_sums_entry(sums, series, id);

	pfs_add_carrying(&entry->value, value, &sums->carries, series, id);
}

static inline void
pfs_series_sums_add_wide(PfsSeriesSums *sums, int32 series, int64 id, int128 value)
{
	PfsSeriesEntry *entry = pfs_series_sums_entry(sums, series, id);

	if (likely(value == (int64) value))
		pfs_add_carrying(&entry->value, (int64) value, &sums->carries, series, id);
	else
		pfs_add_wide_carrying(&entry->value, value, &sums->carries, series, id);
}

/* Sorts the sums by id, then series. Call it after the last addition. */
void pfs_series_sums_sort(PfsSeriesSums *sums);

/*
 * Returns the next key and its exact sum; false at the end. Call it after the last addition. Keys
 * are sorted only after pfs_series_sums_sort().
 */
bool pfs_series_sums_next(PfsSeriesSums *sums, PfsSeriesKey *key, int128 *value);

/*
 * Finds the sum of a key; returns false if there is none. Call it after the last addition, and not
 * with pfs_series_sums_sort() or pfs_series_sums_next(). Keys must ascend by id, then series, each
 * once.
 */
bool pfs_series_sums_find(PfsSeriesSums *sums, const PfsSeriesKey *key, int128 *value);

void pfs_series_sums_end(PfsSeriesSums *sums);

#endif
