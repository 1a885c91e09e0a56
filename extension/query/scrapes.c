/*
 * scrapes.c
 *		Counting scrapes, and choosing among them.
 */
#include "query/scrapes.h"

#include "query/allocate.h"
#include "query/sample_scan.h"
#include "query/series_table.h"
#include "query/stack_sums.h"

int64 *
pfs_count_scrapes(const PfsSelection *selection)
{
	PfsSampleScan *scan = pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES,
													 PFS_PART_SCRAPES);
	pfs_series_table_hash *times =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	int64 *counts = palloc0((Size) (selection->distinct_count + 1) * sizeof(int64));
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count && block.scrapes != NULL; row++)
		{
			bool found;

			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			pfs_series_table_get(times, series->index, block.scrapes[row], &found);
			if (!found)
				counts[series->index]++;
		}
	}
	pfs_sample_scan_end(scan);
	return counts;
}

void
pfs_require_scrapes(const PfsSelection *selection)
{
	if (pfs_picks_scrapes(selection) && pfs_sample_resolution(selection) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s needs samples, of which a part of the range has just sums",
						pfs_over_time_name(selection->over_time)),
				 errdetail(
					 "Tiers keep sums and how many scrapes are in them, which tell averages."),
				 errhint("Begin the range where profstore.samples begins.")));
}

/* The sum of each scrape, by series and time. */
static pfs_series_table_hash *
sum_scrapes(const PfsSelection *selection)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE,
								   PFS_PART_SCRAPES);
	pfs_series_table_hash *sums =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			PfsSeriesEntry *entry;
			bool found;

			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			entry = pfs_series_table_get(sums, series->index, block.times[row], &found);
			entry->value = pfs_add_values(entry->value, block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
	return sums;
}

TimestampTz *
pfs_choose_scrapes(const PfsSelection *selection)
{
	bool largest = selection->over_time == PFS_OVER_TIME_MAX;
	TimestampTz *chosen = PFS_ARRAY(TimestampTz, selection->distinct_count);
	int64 *values = PFS_ARRAY0(int64, selection->distinct_count);
	pfs_series_table_hash *sums;
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *scrape;

	pfs_require_scrapes(selection);
	for (int i = 0; i < selection->distinct_count; i++)
		chosen[i] = DT_NOBEGIN;
	sums = sum_scrapes(selection);
	pfs_series_table_start_iterate(sums, &iterator);
	while ((scrape = pfs_series_table_iterate(sums, &iterator)) != NULL)
	{
		int32 i = scrape->key.series;

		if (chosen[i] == DT_NOBEGIN || (largest && scrape->value > values[i]) ||
			((!largest || scrape->value == values[i]) && scrape->key.id > chosen[i]))
		{
			chosen[i] = scrape->key.id;
			values[i] = scrape->value;
		}
	}
	pfs_series_table_destroy(sums);
	pfree(values);
	return chosen;
}
