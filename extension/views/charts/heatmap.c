/*
 * heatmap.c
 *		heatmap(): sums by bucket and by slice within the bucket, for series whose samples keep
 *		their times.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/srf.h"
#include "dictionary/cache/doubts.h"
#include "merge/series_sums.h"
#include "select/buckets.h"
#include "select/sample_scan.h"
#include "tree/stack_filter.h"

enum
{
	COL_TIME,
	COL_OFFSET,
	COL_VALUE,
	COL_COUNT
};

#define MAX_SLICES 10000

PG_FUNCTION_INFO_V1(profstore_heatmap);

/* Scans the selection and returns the sums by (slice, bucket). */
static PfsSeriesSums *
sum_cells(const PfsSelection *selection, const PfsFilters *filters, int64 step_us, int32 slices)
{
	PfsSeriesSums *cells = pfs_series_sums_begin(pfs_hash_memory_bytes());
	PfsSampleScan *scan =
		pfs_sample_scan_begin_judged(selection,
									 PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE,
									 PFS_PART_SCRAPES,
									 pfs_stack_filter_verdicts(pfs_stack_filter_create(filters)));
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		for (uint32 row = 0; row < block.row_count; row++)
		{
			int64 offset = pfs_bucket_offset(block.times[row], step_us);

			pfs_series_sums_add(cells, (int32) ((int128) offset * slices / step_us),
								block.times[row] - offset, block.values[row]);
		}
	pfs_sample_scan_end(scan);
	return cells;
}

/* Puts the cells as rows, by time, then slice. Returns true if there were none. */
static bool
heatmap_put_cells(const PfsResult *result, PfsSeriesSums *cells, int64 step_us, int32 slices)
{
	static const bool nulls[COL_COUNT] = { false };
	PfsSeriesKey cell;
	int128 value;
	bool is_empty = true;

	pfs_series_sums_sort(cells);
	while (pfs_series_sums_next(cells, &cell, &value))
	{
		Datum values[COL_COUNT];

		CHECK_FOR_INTERRUPTS();
		if (value == 0)
			continue;
		values[COL_TIME] = TimestampTzGetDatum(cell.id);
		values[COL_OFFSET] =
			Float8GetDatum((double) cell.series * (double) step_us / slices / 1000.0);
		values[COL_VALUE] = Int64GetDatum(pfs_clip(value));
		pfs_result_put(result, values, nulls);
		is_empty = false;
	}
	pfs_series_sums_end(cells);
	return is_empty;
}

PGDLLEXPORT Datum
profstore_heatmap(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	const Datum *step = pfs_argument(fcinfo, "step");
	const Datum *slice_count = pfs_argument(fcinfo, "slices");
	int64 step_us = step == NULL ? USECS_PER_SEC : pfs_step_us(DatumGetIntervalP(*step), "step");
	int32 slices = slice_count == NULL ? 50 : DatumGetInt32(*slice_count);

	if (slices < 1 || slices > MAX_SLICES)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("slices must be between 1 and %d", MAX_SLICES)));
	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("heat maps require a delta profile type"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	if (heatmap_put_cells(&result, sum_cells(selection, &filters, step_us, slices), step_us,
						  slices))
		pfs_selection_tell_empty(selection);
	return (Datum) 0;
}
