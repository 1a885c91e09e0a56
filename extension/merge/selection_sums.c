/*
 * selection_sums.c
 *		Adds sample values, or the sums that replace them, to their stacks.
 */
#include "merge/selection_sums.h"

#include "utils/timestamp.h"

#include "merge/scrapes.h"
#include "merge/series_sums.h"
#include "select/sample_scan.h"

static void
sum_delta(const PfsSelection *selection, PfsStackTable *table)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE, PFS_PART_PAIRS);
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		pfs_stack_table_add_rows(table, block.stacks, block.values, block.row_count);
	pfs_sample_scan_end(scan);
}

/*
 * Sums by (series, stack), in at most bytes of memory, and first counts scrapes per series, because
 * a sum can be divided only when all times are known. It takes two scans, because segments have
 * their sums by stack and by time in two tables.
 */
static void
sum_instant(const PfsSelection *selection, PfsStackTable *table, Size bytes)
{
	const int64 *scrape_counts = pfs_count_scrapes(selection);
	PfsSeriesSums *sums = pfs_series_sums_of(selection, PFS_PART_PAIRS, bytes);
	PfsSeriesKey key;
	int128 sum;

	while (pfs_series_sums_next(sums, &key, &sum))
	{
		/* retention stores a scrape beside its sums; sums of other origin count as one */
		int64 scrapes = Max(scrape_counts[key.series], 1);
		int128 rest = (sum % scrapes) * (INT64CONST(1) << PFS_FRACTION_BITS);

		pfs_stack_table_add(table, key.id, sum / scrapes, (int64) (rest / scrapes));
	}
	pfs_series_sums_end(sums);
}

/* Adds the values of one scrape of each series. */
static void
sum_chosen(const PfsSelection *selection, PfsStackTable *table)
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
			series = pfs_selection_next_series(selection, series, block.series[row]);
			if (block.times[row] == chosen[series->index])
				pfs_stack_table_add(table, block.stacks[row], block.values[row], 0);
		}
	}
	pfs_sample_scan_end(scan);
}

PfsStackTable *
pfs_selection_sum(const PfsSelection *selection, Size bytes)
{
	bool averages = !selection->delta && !pfs_picks_scrapes(selection);
	Size table_bytes = averages ? bytes / 2 : bytes;
	PfsStackTable *table =
		pfs_stack_table_begin(averages ? (uint32) selection->distinct_count : 0, table_bytes);

	if (selection->delta)
		sum_delta(selection, table);
	else if (averages)
		sum_instant(selection, table, bytes - table_bytes);
	else
		sum_chosen(selection, table);
	return table;
}
