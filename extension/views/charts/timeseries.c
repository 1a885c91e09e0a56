/*
 * timeseries.c
 *		timeseries(): rates over time, one line per group of series.
 *
 * 1. rank_series(): series get numbers (ranks) by group, so that sums read by bucket and rank come
 *    in the order of the result rows, and averages are added up in a fixed order.
 * 2. sum_rows(): a scan adds up values by rank and bucket. With filters that scan only finds the
 *    buckets that have rows, and a second one (passing_sums.c) adds the values that pass.
 * 3. Each sum is divided. Of delta types by the seconds of the windows that begin in both bucket
 *    and range, since a sample stands for its whole window (tell_windows(), cover_bucket()), unless
 *    the caller wants sums (absolute). Of instant types by the number of scrapes of the series in
 *    the bucket (count_scrapes()), unless pick_scrapes() chooses one of them.
 * 4. put_points(): the sums of one bucket and group become a row.
 */
#include "select/series_groups.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/srf.h"
#include "merge/scrapes.h"
#include "merge/series_sums.h"
#include "select/buckets.h"
#include "select/range_partitions.h"
#include "select/sample_scan.h"
#include "select/tiers.h"
#include "select/windows.h"
#include "tree/frames/filters.h"
#include "views/charts/passing_sums.h"

enum
{
	COL_TIME,
	COL_METRIC,
	COL_LABELS,
	COL_VALUE,
	COL_COUNT
};

/* Most buckets of a graph whose step the function chooses. */
#define MAX_CHOSEN_BUCKETS 300

/*
 * Number of places of a scrape's rows. Place 0 is the scrape's own time, place 1 + i the start of
 * the bucket of tier i.
 */
#define PLACES (1 + PFS_TIER_COUNT)

/*
 * If a range has only one time per series, samples this far before and after it show the length of
 * its windows.
 */
#define LOOK_AROUND_US (5 * USECS_PER_MINUTE)

typedef struct SeriesGraph
{
	const PfsSelection *selection;
	PfsSeriesGroups groups;
	/*
	 * for each PfsSeries.index, its group (delta types) or its number in the order of groups
	 * (instant types)
	 */
	int32 *ranks;
	int32 *group_of_rank; /* the group of each rank; only for instant types */
	PfsBuckets buckets;
	const PfsFilters *filters; /* NULL: none */
	PfsSeriesSums *sums;	   /* sums by (rank, start of the bucket) */

	/*
	 * Only for instant types. If scrapes are picked, scrapes has their sums by (rank, time) and
	 * counts is NULL. Otherwise scrapes has the set of scrapes by (rank * PLACES + place, time),
	 * from which counts gets their number by (rank, start of the bucket).
	 */
	PfsSeriesSums *scrapes;
	PfsSeriesSums *counts;

	PfsWindows *windows; /* windows of the samples; only for rates, of delta types */
	bool is_absolute;	 /* values of delta types are sums, not rates */
} SeriesGraph;

/* Consecutive rows with the same key, added up before they go to the sums. */
typedef struct Run
{
	PfsSeriesSums *sums; /* destination of the run's sum */
	PfsSeriesKey key;	 /* series is NO_SERIES before the first row */
	int64 sum;
	TimestampTz scrape; /* the latest scrape of the run, DT_NOBEGIN before the first */
	TimestampTz bucket; /* bucket of the latest row */
} Run;

/* A row of the result while it is added up. */
typedef struct Point
{
	TimestampTz bucket; /* start of the bucket */
	int32 group;		/* NO_GROUP before the first row */
	double value;
} Point;

#define NO_GROUP  (-1)
#define NO_SERIES (-1)

PG_FUNCTION_INFO_V1(profstore_timeseries);

/*
 * Returns the smallest round step that makes at most MAX_CHOSEN_BUCKETS of the range. Steps from a
 * minute on are whole minutes, from an hour on whole hours.
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
timeseries_get_step(FunctionCallInfo fcinfo, const PfsSelection *selection)
{
	const Datum *step = pfs_argument(fcinfo, "step");

	/*
	 * a bucket narrower than that of the tier would show the samples of a longer time than its own
	 */
	if (step == NULL)
		return Max(choose_step(selection), pfs_sample_resolution(selection));
	return pfs_step_us(DatumGetIntervalP(*step), "step");
}

/* Returns the buckets of arguments step and origin, one bucket of which begins at the origin. */
static PfsBuckets
timeseries_get_buckets(FunctionCallInfo fcinfo, const PfsSelection *selection)
{
	PfsBuckets buckets = { timeseries_get_step(fcinfo, selection), 0 };
	const Datum *origin = pfs_argument(fcinfo, "origin");

	if (origin == NULL)
		return buckets;
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(*origin)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("origin must be a finite time")));
	buckets.phase_us = pfs_bucket_offset(DatumGetTimestampTz(*origin), buckets.step_us);
	return buckets;
}

/* Numbers the series of an instant type by group, then by index, with a counting sort. */
static void
rank_series(SeriesGraph *graph)
{
	int count = graph->selection->distinct_count;
	const int32 *groups = graph->groups.of_series;
	int32 *next = PFS_ARRAY0(int32, graph->groups.count + 1);

	graph->ranks = PFS_ARRAY(int32, count);
	graph->group_of_rank = PFS_ARRAY(int32, count);
	for (int i = 0; i < count; i++)
		next[groups[i] + 1]++;
	for (int32 group = 1; group < graph->groups.count; group++)
		next[group] += next[group - 1];
	for (int i = 0; i < count; i++)
	{
		graph->ranks[i] = next[groups[i]]++;
		graph->group_of_rank[graph->ranks[i]] = groups[i];
	}
	pfree(next);
}

/*
 * Allots the memory. For an instant type half of it goes to the scrapes, which outnumber the
 * buckets.
 */
static void
timeseries_begin_sums(SeriesGraph *graph)
{
	Size bytes = pfs_hash_memory_bytes();

	if (graph->selection->delta)
	{
		graph->ranks = graph->groups.of_series;
		graph->sums = pfs_series_sums_begin(bytes);
		if (!graph->is_absolute)
			graph->windows = pfs_windows_begin(graph->selection->distinct_count);
		return;
	}
	rank_series(graph);
	graph->sums = pfs_series_sums_begin(bytes / 4);
	graph->scrapes = pfs_series_sums_begin(bytes / 2);
	if (!pfs_picks_scrapes(graph->selection))
		graph->counts = pfs_series_sums_begin(bytes / 4);
}

/* Returns the graph's bucket of those rows of a scrape that are at this place. */
static TimestampTz
bucket_of_place(const SeriesGraph *graph, TimestampTz scrape, int place)
{
	if (place > 0)
		scrape = pfs_bucket_start(scrape, pfs_tiers[place - 1].width_us);
	return pfs_buckets_start(&graph->buckets, scrape);
}

/*
 * Returns the first place of the scrape that lies in the bucket. If a part of a scrape is in a
 * tier, both parts mostly lie in one bucket, and one place for both makes the bucket count the
 * scrape once. If the step is narrower than the tier's bucket, they lie in two buckets, and each
 * counts the scrape.
 */
static int
find_place(const SeriesGraph *graph, TimestampTz scrape, TimestampTz bucket)
{
	int place = 0;

	while (place < PLACES - 1 && bucket_of_place(graph, scrape, place) != bucket)
		place++;
	return place;
}

static void
end_run(Run *run)
{
	if (run->key.series != NO_SERIES)
		pfs_series_sums_add(run->sums, run->key.series, run->key.id, run->sum);
}

/*
 * Adds a value to the run. If int64 would overflow, the sum so far goes to the sums, which are
 * wider, and the run begins again at the value.
 */
static inline void
add_to_run(Run *run, int64 value)
{
	int64 sum;

	if (unlikely(__builtin_add_overflow(run->sum, value, &sum)))
	{
		end_run(run);
		sum = value;
	}
	run->sum = sum;
}

/*
 * Adds up the rows of a block in runs of one key, and notes their windows (delta types) or scrapes
 * (instant types). The run continues in the next block.
 */
static void
sum_block(const SeriesGraph *graph, const PfsSampleBlock *block, Run *run)
{
	const PfsSelection *selection = graph->selection;
	bool picks = pfs_picks_scrapes(selection);
	bool counts = graph->counts != NULL && block->scrapes != NULL;
	PfsWindows *windows = graph->windows;
	const PfsSeries *series = NULL;

	for (uint32 row = 0; row < block->row_count; row++)
	{
		TimestampTz time = block->times[row];
		PfsSeriesKey key;

		if (series == NULL || series->id != block->series[row])
		{
			series = pfs_selection_series(selection, block->series[row]);
			if (windows != NULL)
				pfs_windows_begin_run(windows, series->index, block->is_tier);
		}
		if (windows != NULL)
			pfs_windows_add(windows, time);
		/* modulo 2^64, since the difference may exceed int64 */
		if ((uint64) time - (uint64) run->bucket >= (uint64) graph->buckets.step_us)
			run->bucket = pfs_buckets_start(&graph->buckets, time);
		key = (PfsSeriesKey){ picks ? time : run->bucket, graph->ranks[series->index] };
		if (key.id != run->key.id || key.series != run->key.series)
		{
			end_run(run);
			run->key = key;
			run->sum = 0;
			run->scrape = DT_NOBEGIN;
		}
		if (counts && block->scrapes[row] != run->scrape)
		{
			int place;

			run->scrape = block->scrapes[row];
			place = run->scrape == time ? 0 : find_place(graph, run->scrape, run->bucket);
			pfs_series_sums_add(graph->scrapes, key.series * PLACES + place, run->scrape, 0);
		}
		if (block->values != NULL)
			add_to_run(run, block->values[row]);
	}
}

/*
 * Scans all rows and adds their values. With filters it adds 0 for each row: a row whose stack does
 * not pass still makes its bucket exist.
 */
static void
sum_rows(SeriesGraph *graph)
{
	const PfsSelection *selection = graph->selection;
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES |
									   (graph->filters == NULL ? PFS_SAMPLE_VALUE : 0),
								   PFS_PART_SCRAPES);
	Run run = { .sums = pfs_picks_scrapes(selection) ? graph->scrapes : graph->sums,
				.key = { 0, NO_SERIES },
				.bucket = pfs_buckets_start(&graph->buckets, 0) };
	PfsSampleBlock block;

	for (int i = 0; graph->windows != NULL && i < PFS_TIER_COUNT; i++)
		graph->windows->tier_ends[i] = pfs_sample_scan_tier_end(scan, i);
	while (pfs_sample_scan_next(scan, &block))
		sum_block(graph, &block, &run);
	end_run(&run);
	pfs_sample_scan_end(scan);
}

/* Adds the values of the rows whose stacks pass the filters. */
static void
sum_passing(const SeriesGraph *graph)
{
	const PfsSelection *selection = graph->selection;
	bool picks = pfs_picks_scrapes(selection);

	pfs_sum_passing(&(PfsPassing){ .selection = selection,
								   .filters = graph->filters,
								   .ranks = graph->ranks,
								   .rank_count = selection->delta ? graph->groups.count
																  : selection->distinct_count,
								   .buckets = picks ? (PfsBuckets){ 0, 0 } : graph->buckets,
								   .sums = picks ? graph->scrapes : graph->sums });
}

/* Restricts a selection to the series for which windows still needs neighbouring times. */
static void
select_watched(PfsSelection *selection, const PfsWindows *windows)
{
	const PfsSeries *all = selection->series;
	int count = selection->series_count;

	selection->series = PFS_ARRAY(PfsSeries, count);
	selection->series_ids = PFS_ARRAY(int64, count);
	selection->series_count = 0;
	for (int i = 0; i < count; i++)
		if (pfs_windows_watches(windows, all[i].index))
		{
			selection->series[selection->series_count] = all[i];
			selection->series_ids[selection->series_count++] = all[i].id;
		}
}

/* Adds times of samples before and after the range, for series that have only one time in it. */
static void
look_around(const SeriesGraph *graph)
{
	PfsWindows *windows = graph->windows;
	PfsSelection around = *graph->selection;
	const PfsSeries *series = NULL;
	PfsSampleScan *scan;
	PfsSampleBlock block;

	select_watched(&around, windows);
	around.from = windows->latest - LOOK_AROUND_US;
	around.to = windows->latest + LOOK_AROUND_US;
	/* times in a tier are starts of its buckets and say nothing about windows */
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		around.from = Max(around.from, windows->tier_ends[i]);
	scan =
		pfs_sample_scan_begin_sums(&around, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES, PFS_PART_SCRAPES);
	while (pfs_sample_scan_next(scan, &block))
		for (uint32 row = 0; row < block.row_count && !block.is_tier; row++)
		{
			series = pfs_selection_next_series(&around, series, block.series[row]);
			pfs_windows_look(windows, series->index, block.times[row]);
		}
	pfs_sample_scan_end(scan);
}

static void
tell_windows(const SeriesGraph *graph)
{
	PfsWindows *windows = graph->windows;

	if (!pfs_windows_tell(windows) && windows->watched_count > 0)
	{
		look_around(graph);
		pfs_windows_tell(windows);
	}
	pfs_windows_group(windows, graph->groups.of_series, graph->groups.count);
}

static void
count_scrapes(SeriesGraph *graph)
{
	PfsSeriesKey scrape;
	int128 nothing;

	while (pfs_series_sums_next(graph->scrapes, &scrape, &nothing))
	{
		CHECK_FOR_INTERRUPTS();
		pfs_series_sums_add(graph->counts, scrape.series / PLACES,
							bucket_of_place(graph, scrape.id, scrape.series % PLACES), 1);
	}
	pfs_series_sums_end(graph->scrapes);
}

/*
 * Makes one scrape of each series and bucket the sum of the bucket: the last one, or the one with
 * the largest value. Scrapes are read by time, so a bucket of a series is complete at the first
 * scrape of a later bucket.
 */
static void
pick_scrapes(SeriesGraph *graph)
{
	bool largest = graph->selection->over_time == PFS_OVER_TIME_MAX;
	int count = graph->selection->distinct_count;
	TimestampTz *buckets = PFS_ARRAY(TimestampTz, count);
	int128 *picked = PFS_ARRAY(int128, count);
	PfsSeriesKey scrape;
	int128 value;

	for (int i = 0; i < count; i++)
		buckets[i] = DT_NOBEGIN;
	pfs_series_sums_sort(graph->scrapes);
	while (pfs_series_sums_next(graph->scrapes, &scrape, &value))
	{
		int32 rank = scrape.series;
		TimestampTz bucket = pfs_buckets_start(&graph->buckets, scrape.id);

		CHECK_FOR_INTERRUPTS();
		if (buckets[rank] == bucket)
			picked[rank] = largest ? Max(picked[rank], value) : value;
		else
		{
			if (buckets[rank] != DT_NOBEGIN)
				pfs_series_sums_add_wide(graph->sums, rank, buckets[rank], picked[rank]);
			buckets[rank] = bucket;
			picked[rank] = value;
		}
	}
	for (int32 rank = 0; rank < count; rank++)
		if (buckets[rank] != DT_NOBEGIN)
			pfs_series_sums_add_wide(graph->sums, rank, buckets[rank], picked[rank]);
	pfs_series_sums_end(graph->scrapes);
	pfree(buckets);
	pfree(picked);
}

/* Returns the seconds that the windows of a group cover in a bucket. */
static double
cover_bucket(const SeriesGraph *graph, TimestampTz bucket, int32 group)
{
	TimestampTz end = graph->selection->to;

	/* modulo 2^64, since the difference may exceed int64 */
	if ((uint64) end - (uint64) bucket > (uint64) graph->buckets.step_us)
		end = bucket + graph->buckets.step_us;
	return pfs_windows_cover(graph->windows, Max(bucket, graph->selection->from), end, group);
}

static void
put_point(const PfsResult *result, const SeriesGraph *graph, const Point *point)
{
	static const bool nulls[COL_COUNT] = { false };
	const PfsSeriesGroup *group = &graph->groups.groups[point->group];
	Datum values[COL_COUNT];

	values[COL_TIME] = TimestampTzGetDatum(point->bucket);
	values[COL_METRIC] = CStringGetTextDatum(group->metric);
	values[COL_LABELS] = JsonbPGetDatum(group->labels);
	values[COL_VALUE] = Float8GetDatum(point->value);
	pfs_result_put(result, values, nulls);
	pfree(DatumGetPointer(values[COL_METRIC]));
}

/*
 * Returns the divisor of a sum. It is 1 if no scrapes are counted for it: one scrape was picked, or
 * the rows have no scrape.
 */
static double
divisor_of(SeriesGraph *graph, const PfsSeriesKey *sum)
{
	int128 count;

	if (graph->selection->delta)
		return (graph->is_absolute ? 1 : cover_bucket(graph, sum->id, sum->series)) *
			   (strcmp(graph->selection->unit, "nanoseconds") == 0 ? 1e9 : 1);
	if (graph->counts != NULL && pfs_series_sums_find(graph->counts, sum, &count))
		return (double) count;
	return 1;
}

/*
 * Puts the rows by time and group. The averages of the series of one group come one after another
 * and are added up.
 */
static void
put_points(const PfsResult *result, SeriesGraph *graph)
{
	Point point = { 0, NO_GROUP, 0 };
	PfsSeriesKey key;
	int128 sum;

	pfs_series_sums_sort(graph->sums);
	while (pfs_series_sums_next(graph->sums, &key, &sum))
	{
		int32 group = graph->selection->delta ? key.series : graph->group_of_rank[key.series];

		CHECK_FOR_INTERRUPTS();
		if (point.group != group || point.bucket != key.id)
		{
			if (point.group != NO_GROUP)
				put_point(result, graph, &point);
			point = (Point){ key.id, group, 0 };
		}
		point.value += (double) sum / divisor_of(graph, &key);
	}
	if (point.group != NO_GROUP)
		put_point(result, graph, &point);
	else
		pfs_selection_tell_empty(graph->selection);
	pfs_series_sums_end(graph->sums);
	if (graph->counts != NULL)
		pfs_series_sums_end(graph->counts);
}

PGDLLEXPORT Datum
profstore_timeseries(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	SeriesGraph graph = { .selection = pfs_selection_get(fcinfo) };
	PfsFilters filters = pfs_filters_get(fcinfo);
	const Datum *labels = pfs_argument(fcinfo, "by");
	ArrayType *by = labels == NULL ? construct_empty_array(TEXTOID) : DatumGetArrayTypeP(*labels);

	graph.is_absolute = pfs_argument_is_true(fcinfo, "absolute");
	graph.buckets = timeseries_get_buckets(fcinfo, graph.selection);
	graph.groups = pfs_series_groups(graph.selection, by);
	graph.filters = pfs_filters_any(&filters) ? &filters : NULL;
	pfs_require_scrapes(graph.selection);
	timeseries_begin_sums(&graph);
	sum_rows(&graph);
	if (graph.filters != NULL)
		sum_passing(&graph);
	if (pfs_picks_scrapes(graph.selection))
		pick_scrapes(&graph);
	else if (graph.windows != NULL)
		tell_windows(&graph);
	else if (!graph.selection->delta)
		count_scrapes(&graph);
	put_points(&result, &graph);
	return (Datum) 0;
}
