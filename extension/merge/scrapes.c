/*
 * scrapes.c
 *		Counts the scrapes of series, and chooses one scrape of each.
 */
#include "merge/scrapes.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "merge/series_sums.h"
#include "select/range_partitions.h"
#include "select/sample_scan.h"

int64 *
pfs_count_scrapes(const PfsSelection *selection)
{
	PfsSampleScan *scan = pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES,
													 PFS_PART_SCRAPES);
	PfsSeriesSums *times = pfs_series_sums_begin(pfs_hash_memory_bytes());
	/* One element more, so that a selection without series is no request for 0 bytes. */
	int64 *counts = palloc0((Size) (selection->distinct_count + 1) * sizeof(int64));
	const PfsSeries *series = NULL;
	PfsSampleBlock block;
	PfsSeriesKey scrape;
	int128 nothing;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count && block.scrapes != NULL; row++)
		{
			series = pfs_selection_next_series(selection, series, block.series[row]);
			/*
			 * A sum of 0 by (series, time) is a set of pairs that moves to disk if it grows too
			 * large.
			 */
			pfs_series_sums_add(times, series->index, block.scrapes[row], 0);
		}
	}
	pfs_sample_scan_end(scan);
	while (pfs_series_sums_next(times, &scrape, &nothing))
		counts[scrape.series]++;
	pfs_series_sums_end(times);
	return counts;
}

void
pfs_require_scrapes(const PfsSelection *selection)
{
	if (pfs_picks_scrapes(selection) && pfs_sample_resolution(selection) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s needs individual samples, but part of the range is kept only "
						"as sums",
						pfs_over_time_name(selection->over_time)),
				 errdetail("Tiers keep sums and numbers of scrapes, which suffice only for "
						   "averages."),
				 errhint("Begin the range at or after the oldest time in profstore.samples.")));
}

TimestampTz *
pfs_choose_scrapes(const PfsSelection *selection)
{
	bool largest = selection->over_time == PFS_OVER_TIME_MAX;
	TimestampTz *chosen = PFS_ARRAY(TimestampTz, selection->distinct_count);
	int128 *values = PFS_ARRAY0(int128, selection->distinct_count);
	PfsSeriesSums *sums;
	PfsSeriesKey scrape;
	int128 value;

	pfs_require_scrapes(selection);
	for (int i = 0; i < selection->distinct_count; i++)
		chosen[i] = DT_NOBEGIN;
	sums = pfs_series_sums_of(selection, PFS_PART_SCRAPES, pfs_hash_memory_bytes());
	while (pfs_series_sums_next(sums, &scrape, &value))
	{
		int32 i = scrape.series;

		/* The latest scrape, or the one with the largest sum, and of equal ones the latest. */
		if (chosen[i] == DT_NOBEGIN || (largest && value > values[i]) ||
			((!largest || value == values[i]) && scrape.id > chosen[i]))
		{
			chosen[i] = scrape.id;
			values[i] = value;
		}
	}
	pfs_series_sums_end(sums);
	pfree(values);
	return chosen;
}
