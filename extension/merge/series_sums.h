/*
 * series_sums.h
 *		Sums by (series or group, some int64), within a part of work_mem, on disk beyond it.
 */
#ifndef PFS_SERIES_SUMS_H
#define PFS_SERIES_SUMS_H

#include "profstore.h"

#include "base/row_sorter.h"
#include "base/series_table.h"
#include "merge/carries.h"
#include "select/sample_scan.h"

/* Columns of sums that are sorted. */
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
	pfs_series_table_hash *table; /* NULL: all is in the list */
	uint64 max_members;			  /* of the table */
	int sorter_kb;
	PfsRowSorter *sorter; /* NULL: all is in the table, or the list */
	PfsCarries carries;	  /* of all of them */
	PfsSeriesEntry *list; /* by id, then series; NULL: not asked for */
	uint32 list_count;
	uint32 next;
	bool is_reading;
	pfs_series_table_iterator iterator;
	int64 ahead[PFS_SUM_COLUMNS]; /* the sort's next row, … */
	bool has_ahead;				  /* … where there is one */
} PfsSeriesSums;

/* No sums yet; bytes is what they may take. Lives in CurrentMemoryContext. */
PfsSeriesSums *pfs_series_sums_begin(Size bytes);

/*
 * Sums of the samples of a selection by PfsSeries.index and stack (PFS_PART_PAIRS), or time
 * (PFS_PART_SCRAPES). The same otherwise.
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

/* After the last addition, for who wants the keys by id, then series. */
void pfs_series_sums_sort(PfsSeriesSums *sums);

/*
 * After the last addition: the next key and its exact sum; false at the end. The order is that of
 * pfs_series_sums_sort, else none in particular.
 */
bool pfs_series_sums_next(PfsSeriesSums *sums, PfsSeriesKey *key, int128 *value);

/*
 * After the last addition, in place of the two above: the sum of a key; false where there is none.
 * Each key is asked for once, by id, then series.
 */
bool pfs_series_sums_find(PfsSeriesSums *sums, const PfsSeriesKey *key, int128 *value);

void pfs_series_sums_end(PfsSeriesSums *sums);

#endif
