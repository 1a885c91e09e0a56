/*
 * heatmap.c
 *		heatmap(): when in each second the samples fall, for series whose samples keep their times.
 */
#include "profstore.h"

#include "query/allocate.h"
#include "query/buckets.h"
#include "query/sample_scan.h"
#include "query/series_table.h"
#include "query/srf.h"
#include "query/stack_filter.h"
#include "query/stack_sums.h"
#include "utils/timestamp.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_STEP = 3,
	ARG_SLICES,
	ARG_FILTERS
};

enum
{
	COL_TIME,
	COL_OFFSET,
	COL_VALUE,
	COL_COUNT
};

#define MAX_SLICES 10000

PG_FUNCTION_INFO_V1(profstore_heatmap);

static int
compare_cells(const void *a, const void *b)
{
	const PfsSeriesEntry *left = a;
	const PfsSeriesEntry *right = b;

	if (left->key.id != right->key.id)
		return left->key.id < right->key.id ? -1 : 1;
	return left->key.series - right->key.series;
}

/* Sums by (slice, bucket). */
static pfs_series_table_hash *
sum_cells(const PfsSelection *selection, const PfsFilters *filters, int64 step_us, int32 slices)
{
	PfsStackFilter *filter = pfs_stack_filter_create(filters);
	pfs_series_table_hash *cells =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	PfsSampleScan *scan =
		pfs_sample_scan_begin(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_VALUE |
											 (filter != NULL ? PFS_SAMPLE_STACK : 0));
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		if (filter != NULL)
			pfs_stack_filter_learn(filter, block.stacks, block.row_count);
		for (uint32 row = 0; row < block.row_count; row++)
		{
			int64 offset = pfs_bucket_offset(block.times[row], step_us);
			PfsSeriesEntry *cell;
			bool found;

			if (filter != NULL && !pfs_stack_filter_passes(filter, block.stacks[row]))
				continue;
			cell = pfs_series_table_get(cells, (int32) ((int128) offset * slices / step_us),
										block.times[row] - offset, &found);
			cell->value = pfs_add_values(cell->value, block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
	return cells;
}

static void
put_cells(const PfsRows *rows, pfs_series_table_hash *cells, int64 step_us, int32 slices)
{
	static const bool nulls[COL_COUNT] = { false };
	PfsSeriesEntry *sorted = PFS_ARRAY(PfsSeriesEntry, cells->members);
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *cell;
	uint32 count = 0;

	pfs_series_table_start_iterate(cells, &iterator);
	while ((cell = pfs_series_table_iterate(cells, &iterator)) != NULL)
		sorted[count++] = *cell;
	qsort(sorted, count, sizeof(PfsSeriesEntry), compare_cells);
	for (uint32 i = 0; i < count; i++)
	{
		Datum values[COL_COUNT];

		if (sorted[i].value == 0)
			continue;
		values[COL_TIME] = TimestampTzGetDatum(sorted[i].key.id);
		values[COL_OFFSET] =
			Float8GetDatum((double) sorted[i].key.series * (double) step_us / slices / 1000.0);
		values[COL_VALUE] = Int64GetDatum(sorted[i].value);
		pfs_rows_put(rows, values, nulls);
	}
}

/*
 * heatmap(selector, from_ts, to_ts, step, slices, focus, ignore, show, hide)
 */
PGDLLEXPORT Datum
profstore_heatmap(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_filters_get(fcinfo, ARG_FILTERS);
	int64 step_us = USECS_PER_SEC;
	int32 slices = 50;

	if (!PG_ARGISNULL(ARG_STEP))
		step_us = pfs_step_us(PG_GETARG_INTERVAL_P(ARG_STEP), "step");
	if (!PG_ARGISNULL(ARG_SLICES))
		slices = PG_GETARG_INT32(ARG_SLICES);
	if (slices < 1 || slices > MAX_SLICES)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("slices must be between 1 and %d", MAX_SLICES)));
	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("heat maps are of delta types"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	put_cells(&rows, sum_cells(selection, &filters, step_us, slices), step_us, slices);
	return (Datum) 0;
}
