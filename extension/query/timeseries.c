/*
 * timeseries.c
 *		timeseries(): rates over time, one line per group of series.
 *
 * Delta types: sums per (group, bucket), divided by the seconds of the bucket that the range covers. Instant types: sums per
 * (series, bucket), divided by the scrapes of that series in the bucket, then added up per group; or the sum of one of
 * these scrapes.
 */
#include "query/series_groups.h"

#include "catalog/pg_type.h"
#include "query/allocate.h"
#include "query/buckets.h"
#include "query/sample_scan.h"
#include "query/scrapes.h"
#include "query/series_table.h"
#include "query/srf.h"
#include "query/stack_filter.h"
#include "query/stack_sums.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_STEP = 3,
	ARG_BY,
	ARG_FILTERS
};

enum
{
	COL_TIME,
	COL_METRIC,
	COL_LABELS,
	COL_VALUE,
	COL_COUNT
};

/* A chosen step gives at most so many buckets. */
#define MAX_CHOSEN_BUCKETS 300

typedef struct Point
{
	TimestampTz bucket; /* its start */
	int32 group;
	double value;
} Point;

typedef struct SeriesGraph
{
	const PfsSelection *selection;
	PfsSeriesGroups groups;
	int64 step_us;
	PfsStackFilter *filter;			/* NULL: no filters */
	pfs_series_table_hash *sums;	/* by (group, bucket), or for instant types (series, bucket) */
	pfs_series_table_hash *scrapes; /* by (series, bucket), instant types alone */
	pfs_series_table_hash
		*times; /* the (series, time) that have been counted as scrapes; or what they sum to */
} SeriesGraph;

PG_FUNCTION_INFO_V1(profstore_timeseries);

/*
 * The least round step that cuts the range in at most MAX_CHOSEN_BUCKETS. From a minute on all are whole minutes,
 * from an hour on whole hours.
 */
static int64
choose_step(const PfsSelection *selection)
{
	static const int seconds[] = { 10,	 15,   30,	 60,	120,   300,	  600,	900,
								   1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	uint64 length_us;
	uint64 days;

	if (TIMESTAMP_NOT_FINITE(selection->from) || TIMESTAMP_NOT_FINITE(selection->to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("an open time range needs a step"),
						errhint("Pass step, such as step => '1 hour'.")));
	length_us = (uint64) selection->to - (uint64) selection->from;
	for (size_t i = 0; i < lengthof(seconds); i++)
	{
		if (length_us <= (uint64) (seconds[i] * USECS_PER_SEC * MAX_CHOSEN_BUCKETS))
			return seconds[i] * USECS_PER_SEC;
	}
	days = length_us / (USECS_PER_DAY * MAX_CHOSEN_BUCKETS) + 1;
	return (int64) (days * USECS_PER_DAY);
}

static int64
get_step(FunctionCallInfo fcinfo, const PfsSelection *selection)
{
	/* a bucket of the graph that is narrower than one of the tier would stand for more than its time */
	if (PG_ARGISNULL(ARG_STEP))
		return Max(choose_step(selection), pfs_sample_resolution(selection));
	return pfs_step_us(PG_GETARG_INTERVAL_P(ARG_STEP), "step");
}

static void
count_scrape(SeriesGraph *graph, int32 series, TimestampTz time, TimestampTz bucket)
{
	bool found;

	pfs_series_table_get(graph->times, series, time, &found);
	if (!found)
		pfs_series_table_get(graph->scrapes, series, bucket, &found)->value++;
}

/*
 * Adds all rows, or without filters all sums per scrape. A row of a stack that does not pass still makes its bucket exist,
 * with nothing in it.
 */
static void
sum_rows(SeriesGraph *graph)
{
	const PfsSelection *selection = graph->selection;
	PfsStackFilter *filter = graph->filter;
	bool filtered = filter != NULL;
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE |
									   (filtered ? PFS_SAMPLE_STACK : 0),
								   filtered ? PFS_PART_ROWS : PFS_PART_SCRAPES);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		if (filtered)
			pfs_stack_filter_learn(filter, block.stacks, block.row_count);
		for (uint32 row = 0; row < block.row_count; row++)
		{
			TimestampTz bucket = pfs_bucket_start(block.times[row], graph->step_us);
			PfsSeriesEntry *entry;
			bool found;
			bool passes;

			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			if (!selection->delta && !pfs_picks_scrapes(selection) && block.scrapes != NULL)
				count_scrape(graph, series->index, block.scrapes[row], bucket);
			passes = !filtered || pfs_stack_filter_passes(filter, block.stacks[row]);
			if (pfs_picks_scrapes(selection))
				entry = pfs_series_table_get(graph->times, series->index, block.times[row], &found);
			else
				entry =
					pfs_series_table_get(graph->sums,
										 selection->delta ? graph->groups.of_series[series->index]
														  : series->index,
										 bucket, &found);
			if (passes)
				entry->value = pfs_add_values(entry->value, block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
}

/*
 * One scrape of each series in each bucket becomes its sum: the last, or the one of the largest value. graph->scrapes has
 * the times of the last ones meanwhile.
 */
static void
pick_scrapes(SeriesGraph *graph)
{
	bool largest = graph->selection->over_time == PFS_OVER_TIME_MAX;
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *scrape;

	pfs_series_table_start_iterate(graph->times, &iterator);
	while ((scrape = pfs_series_table_iterate(graph->times, &iterator)) != NULL)
	{
		int32 series = scrape->key.series;
		TimestampTz time = scrape->key.id;
		TimestampTz bucket = pfs_bucket_start(time, graph->step_us);
		bool found;
		PfsSeriesEntry *sum = pfs_series_table_get(graph->sums, series, bucket, &found);
		PfsSeriesEntry *last = pfs_series_table_get(graph->scrapes, series, bucket, &found);

		if (!found || (largest ? scrape->value > sum->value : time > last->value))
			sum->value = scrape->value;
		if (!found || time > last->value)
			last->value = time;
	}
	pfs_series_table_reset(graph->scrapes);
}

/* Seconds of a bucket that lie in the range. */
static double
covered_seconds(const SeriesGraph *graph, TimestampTz bucket)
{
	TimestampTz from = Max(bucket, graph->selection->from);
	TimestampTz to = Min(bucket + graph->step_us, graph->selection->to);

	return (double) (to - from) / USECS_PER_SEC;
}

static int
compare_points(const void *a, const void *b)
{
	const Point *left = a;
	const Point *right = b;

	if (left->bucket != right->bucket)
		return left->bucket < right->bucket ? -1 : 1;
	return left->group - right->group;
}

/*
 * Turns sums into points, by time and group; points of one place are not yet added up.
 */
static Point *
make_points(const SeriesGraph *graph, uint32 *count)
{
	const PfsSelection *selection = graph->selection;
	double unit = strcmp(selection->unit, "nanoseconds") == 0 ? 1e9 : 1;
	Point *points = PFS_ARRAY(Point, graph->sums->members);
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	*count = 0;
	pfs_series_table_start_iterate(graph->sums, &iterator);
	while ((entry = pfs_series_table_iterate(graph->sums, &iterator)) != NULL)
	{
		TimestampTz bucket = entry->key.id;
		Point point = { bucket, entry->key.series, (double) entry->value };

		if (selection->delta)
			point.value /= covered_seconds(graph, bucket) * unit;
		else
		{
			bool found;

			point.group = graph->groups.of_series[entry->key.series];
			point.value /= (double)
				Max(pfs_series_table_get(graph->scrapes, entry->key.series, bucket, &found)->value,
					1);
		}
		points[(*count)++] = point;
	}
	qsort(points, *count, sizeof(Point), compare_points);
	return points;
}

static void
put_points(const PfsRows *rows, const SeriesGraph *graph, const Point *points, uint32 count)
{
	static const bool nulls[COL_COUNT] = { false };
	uint32 next;

	for (uint32 first = 0; first < count; first = next)
	{
		const PfsSeriesGroup *group = &graph->groups.groups[points[first].group];
		double value = points[first].value;
		Datum values[COL_COUNT];

		for (next = first + 1; next < count && compare_points(&points[first], &points[next]) == 0;
			 next++)
			value += points[next].value;
		values[COL_TIME] = TimestampTzGetDatum(points[first].bucket);
		values[COL_METRIC] = CStringGetTextDatum(group->metric);
		values[COL_LABELS] = JsonbPGetDatum(group->labels);
		values[COL_VALUE] = Float8GetDatum(value);
		pfs_rows_put(rows, values, nulls);
		pfree(DatumGetPointer(values[COL_METRIC]));
	}
}

/*
 * timeseries(selector, from_ts, to_ts, step, by, focus, ignore, show, hide)
 */
PGDLLEXPORT Datum
profstore_timeseries(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	SeriesGraph graph = { .selection = pfs_selection_get(fcinfo, ARG_SELECTOR) };
	PfsFilters filters = pfs_filters_get(fcinfo, ARG_FILTERS);
	ArrayType *by =
		PG_ARGISNULL(ARG_BY) ? construct_empty_array(TEXTOID) : PG_GETARG_ARRAYTYPE_P(ARG_BY);
	Point *points;
	uint32 point_count;

	graph.step_us = get_step(fcinfo, graph.selection);
	graph.groups = pfs_series_groups(graph.selection, by);
	graph.sums = pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	graph.scrapes = pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	graph.times = pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	graph.filter = pfs_stack_filter_create(&filters);
	pfs_require_scrapes(graph.selection);
	sum_rows(&graph);
	if (pfs_picks_scrapes(graph.selection))
		pick_scrapes(&graph);
	points = make_points(&graph, &point_count);
	put_points(&rows, &graph, points, point_count);
	return (Datum) 0;
}
