/*
 * flamechart.c
 *		flamechart(): what ran when, for series whose samples keep their times.
 *
 * Samples of one series that overlap come from several processors or threads: each lane holds those that follow one
 * another. Frames that neighbouring samples of a lane have in common, from the root on, are one span.
 *
 * Samples are sorted on their way in and spans on their way out, each within half of work_mem and on disk beyond it. Held in
 * memory are the distinct stacks with their frames, and the spans that are open.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "query/allocate.h"
#include "query/buckets.h"
#include "query/chart_lanes.h"
#include "query/row_sorter.h"
#include "query/sample_scan.h"
#include "query/series_table.h"
#include "query/srf.h"
#include "query/stack_sums.h"
#include "query/symbols.h"
#include "query/touched.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_WIDTH = 3,
	ARG_FILTERS
};

enum
{
	COL_SERIES_ID,
	COL_LANE,
	COL_LEVEL,
	COL_START,
	COL_END,
	COL_LABEL,
	COL_SAMPLES,
	COL_VALUE,
	COL_LABELS,
	COL_COUNT
};

/* Of samples whose period is no time. */
#define DEFAULT_WIDTH_US (10 * 1000)

/* Columns of samples while they are sorted. */
enum
{
	SAMPLE_SERIES, /* PfsSeries.index */
	SAMPLE_TIME,
	SAMPLE_STACK,
	SAMPLE_VALUE, /* a key as well: lanes are the same however rows were sorted */
	SAMPLE_COLUMNS
};

/* Columns of spans while they are sorted. */
enum
{
	SPAN_SERIES,
	SPAN_LANE,
	SPAN_START,
	SPAN_LEVEL,
	SPAN_KEYS,
	SPAN_END = SPAN_KEYS,
	SPAN_SYMBOL,
	SPAN_SAMPLES,
	SPAN_VALUE,
	SPAN_COLUMNS
};

/* The frames that a stack shows; none where the filters drop it. */
typedef struct Stack
{
	int64 id;
	uint32 count;
	uint32 *symbols; /* outermost first */
} Stack;

typedef struct Stacks
{
	uint32 count;
	Stack *stacks; /* by id */
	PfsSymbols *symbols;
} Stacks;

typedef struct Span
{
	uint32 symbol;
	TimestampTz start;
	int64 samples;
	int64 value;
} Span;

typedef struct Lane
{
	TimestampTz last; /* when its latest sample began */
	uint32 depth;
	uint32 capacity;
	Span *open; /* by level */
} Lane;

typedef struct Chart
{
	int32 series;
	int64 width_us;
	PfsLanes *choice;
	int32 lane_count;
	int32 lane_capacity; /* lanes that have memory for open spans, of this series or another */
	Lane *lanes;
	PfsRowSorter *spans; /* of all series so far */
} Chart;

PG_FUNCTION_INFO_V1(profstore_flamechart);

/* Gives all samples to the sorter, and every stack to the set. */
static void
read_samples(const PfsSelection *selection, PfsRowSorter *samples, pfs_series_table_hash *stacks)
{
	PfsSampleScan *scan = pfs_sample_scan_begin(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES |
															   PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			int64 values[SAMPLE_COLUMNS];
			bool found;

			if (block.values[row] == 0)
				continue;
			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			values[SAMPLE_SERIES] = series->index;
			values[SAMPLE_TIME] = block.times[row];
			values[SAMPLE_STACK] = block.stacks[row];
			values[SAMPLE_VALUE] = block.values[row];
			pfs_row_sorter_put(samples, values);
			pfs_series_table_get(stacks, 0, block.stacks[row], &found);
		}
	}
	pfs_sample_scan_end(scan);
	pfs_row_sorter_sort(samples);
}

static int
compare_sums(const void *a, const void *b)
{
	int64 left = ((const PfsStackSum *) a)->stack_id;
	int64 right = ((const PfsStackSum *) b)->stack_id;

	return (left > right) - (left < right);
}

/* The stacks of the set, by id. */
static PfsStackSums
list_stacks(pfs_series_table_hash *stacks)
{
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, stacks->members) };
	pfs_series_table_iterator iterator;
	PfsSeriesEntry *entry;

	pfs_series_table_start_iterate(stacks, &iterator);
	while ((entry = pfs_series_table_iterate(stacks, &iterator)) != NULL)
		sums.sums[sums.count++] = (PfsStackSum){ entry->key.id, { 0, 0 } };
	qsort(sums.sums, sums.count, sizeof(PfsStackSum), compare_sums);
	return sums;
}

/*
 * The frames from the root to a node. With folding, neighbours of one name are one frame.
 */
static void
resolve_stack(Stack *stack, const PfsTouched *touched, uint32 leaf, PfsSymbols *symbols,
			  bool folding)
{
	uint32 capacity = 0;
	uint32 end;

	for (uint32 node = leaf; node != 0; node = touched->shape.parents[node])
		capacity += pfs_symbols_frames(symbols, touched->shape.locations[node]).count;
	stack->symbols = PFS_ARRAY(uint32, capacity);
	end = capacity;
	for (uint32 node = leaf; node != 0; node = touched->shape.parents[node])
	{
		PfsFrames frames = pfs_symbols_frames(symbols, touched->shape.locations[node]);

		for (uint32 i = frames.count; i > 0; i--)
			stack->symbols[--end] = frames.frames[i - 1].symbol;
	}
	for (uint32 i = 0; i < capacity; i++)
	{
		if (folding && stack->count > 0 && stack->symbols[stack->count - 1] == stack->symbols[i])
			continue;
		stack->symbols[stack->count++] = stack->symbols[i];
	}
}

static Stacks
resolve_stacks(pfs_series_table_hash *set, const PfsFilters *filters)
{
	bool folding = pfs_filters_fold(filters);
	PfsStackSums sums = list_stacks(set);
	Stacks stacks = { 0, PFS_ARRAY0(Stack, sums.count), NULL };
	PfsTouching touching = pfs_touching_begin(&sums, true);
	PfsTouched touched;

	pfs_dictionary_begin();
	stacks.symbols = pfs_symbols_create(filters);
	while (pfs_touching_next(&touching, &touched))
	{
		const bool *passing;

		pfs_touched_load_names(&touched);
		passing = pfs_touched_passing(&touched, stacks.symbols);
		for (uint32 i = 0; i < touched.stack_count; i++)
		{
			Stack *stack = &stacks.stacks[stacks.count++];

			CHECK_FOR_INTERRUPTS();
			stack->id = touched.stacks[i].stack_id;
			if (passing == NULL || passing[i])
				resolve_stack(stack, &touched, touched.leaves[i], stacks.symbols, folding);
		}
	}
	pfree(sums.sums);
	return stacks;
}

static const Stack *
find_stack(const Stacks *stacks, int64 id)
{
	uint32 low = 0;
	uint32 high = stacks->count;

	while (low < high)
	{
		uint32 middle = low + (high - low) / 2;

		if (stacks->stacks[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	Assert(low < stacks->count && stacks->stacks[low].id == id);
	return &stacks->stacks[low];
}

/* Closes the spans of a lane from a level on. */
static void
close_spans(Chart *chart, int32 number, uint32 level, TimestampTz end)
{
	Lane *lane = &chart->lanes[number];

	for (uint32 i = level; i < lane->depth; i++)
	{
		const Span *span = &lane->open[i];
		int64 values[SPAN_COLUMNS];

		values[SPAN_SERIES] = chart->series;
		values[SPAN_LANE] = number;
		values[SPAN_START] = span->start;
		values[SPAN_LEVEL] = i;
		values[SPAN_END] = end;
		values[SPAN_SYMBOL] = span->symbol;
		values[SPAN_SAMPLES] = span->samples;
		values[SPAN_VALUE] = span->value;
		pfs_row_sorter_put(chart->spans, values);
	}
	lane->depth = Min(lane->depth, level);
}

/* The lane of that number, which is one of the series' or the next one. */
static Lane *
get_lane(Chart *chart, int32 number, TimestampTz time)
{
	Lane *lane;

	if (number == chart->lane_capacity)
	{
		int32 capacity = Max(8, chart->lane_capacity * 2);
		Lane *lanes = PFS_ARRAY0(Lane, capacity);

		if (chart->lanes != NULL)
		{
			memcpy(lanes, chart->lanes, (Size) chart->lane_capacity * sizeof(Lane));
			pfree(chart->lanes);
		}
		chart->lanes = lanes;
		chart->lane_capacity = capacity;
	}
	lane = &chart->lanes[number];
	if (number == chart->lane_count)
	{
		chart->lane_count++;
		lane->last = time;
		lane->depth = 0;
	}
	return lane;
}

static void
reserve_spans(Lane *lane, uint32 count)
{
	if (count <= lane->capacity)
		return;
	lane->capacity = count;
	if (lane->open == NULL)
		lane->open = PFS_ARRAY(Span, count);
	else
		lane->open = repalloc_huge(lane->open, (Size) count * sizeof(Span));
}

static void
add_sample(Chart *chart, const int64 *sample, const Stack *stack)
{
	TimestampTz time = sample[SAMPLE_TIME];
	int32 number = pfs_lanes_choose(chart->choice, time);
	Lane *lane = get_lane(chart, number, time);
	uint32 common = 0;

	if (time - lane->last > chart->width_us + chart->width_us / 2)
		close_spans(chart, number, 0, lane->last + chart->width_us);
	while (common < lane->depth && common < stack->count &&
		   lane->open[common].symbol == stack->symbols[common])
		common++;
	close_spans(chart, number, common, time);
	reserve_spans(lane, stack->count);
	for (uint32 i = 0; i < stack->count; i++)
	{
		Span *span = &lane->open[i];

		if (i >= common)
			*span = (Span){ .symbol = stack->symbols[i], .start = time };
		span->samples++;
		span->value = pfs_add_values(span->value, sample[SAMPLE_VALUE]);
	}
	lane->depth = stack->count;
	lane->last = time;
}

/* How long a sample of a series lasts, unless an argument says so: its period where that is a time. */
static int64
default_width(const PfsSelection *selection, int32 series)
{
	const char *unit = strrchr(selection->profile_type, ':');

	/* the last part is the period's unit, but for ":delta" */
	if (unit != NULL && strcmp(unit, ":delta") == 0)
		while (unit > selection->profile_type && *--unit != ':')
			;
	if (unit == NULL || strncmp(unit, ":nanoseconds", strlen(":nanoseconds")) != 0)
		return DEFAULT_WIDTH_US;
	for (int i = 0; i < selection->series_count; i++)
	{
		if (selection->series[i].index == series && selection->series[i].period >= 1000)
			return selection->series[i].period / 1000;
	}
	return DEFAULT_WIDTH_US;
}

/* What is open when the samples of a series end. */
static void
end_series(Chart *chart)
{
	for (int32 lane = 0; lane < chart->lane_count; lane++)
		close_spans(chart, lane, 0, chart->lanes[lane].last + chart->width_us);
	chart->lane_count = 0;
}

/* The spans of all samples, sorted. */
static PfsRowSorter *
make_spans(const PfsSelection *selection, int64 width_us, PfsRowSorter *samples,
		   const Stacks *stacks)
{
	Chart chart = { .series = -1 };
	int64 sample[SAMPLE_COLUMNS];

	chart.choice = pfs_lanes_create();
	chart.spans = pfs_row_sorter_begin(SPAN_COLUMNS, SPAN_KEYS, work_mem / 2);
	while (pfs_row_sorter_next(samples, sample))
	{
		CHECK_FOR_INTERRUPTS();
		if (chart.series != sample[SAMPLE_SERIES])
		{
			end_series(&chart);
			chart.series = (int32) sample[SAMPLE_SERIES];
			chart.width_us = width_us > 0 ? width_us : default_width(selection, chart.series);
			pfs_lanes_reset(chart.choice, chart.width_us);
		}
		add_sample(&chart, sample, find_stack(stacks, sample[SAMPLE_STACK]));
	}
	end_series(&chart);
	pfs_row_sorter_sort(chart.spans);
	return chart.spans;
}

/* The first of the series of an index; ids ascend. */
static const PfsSeries *
series_of(const PfsSelection *selection, int32 index)
{
	int i = 0;

	while (selection->series[i].index != index)
		i++;
	return &selection->series[i];
}

static void
put_spans(const PfsRows *rows, const PfsSelection *selection, PfsRowSorter *spans,
		  const PfsSymbols *symbols)
{
	static const bool nulls[COL_COUNT] = { false };
	const PfsSeries *series = NULL;
	int64 span[SPAN_COLUMNS];

	while (pfs_row_sorter_next(spans, span))
	{
		Datum values[COL_COUNT];

		CHECK_FOR_INTERRUPTS();
		if (series == NULL || series->index != span[SPAN_SERIES])
			series = series_of(selection, (int32) span[SPAN_SERIES]);
		values[COL_SERIES_ID] = Int32GetDatum((int32) series->id);
		values[COL_LANE] = Int32GetDatum((int32) span[SPAN_LANE]);
		values[COL_LEVEL] = Int32GetDatum((int32) span[SPAN_LEVEL]);
		values[COL_START] = TimestampTzGetDatum(span[SPAN_START]);
		values[COL_END] = TimestampTzGetDatum(span[SPAN_END]);
		values[COL_LABEL] =
			CStringGetTextDatum(pfs_symbol_name(symbols, (uint32) span[SPAN_SYMBOL]));
		values[COL_SAMPLES] = Int64GetDatum(span[SPAN_SAMPLES]);
		values[COL_VALUE] = Int64GetDatum(span[SPAN_VALUE]);
		values[COL_LABELS] = JsonbPGetDatum(series->labels);
		pfs_rows_put(rows, values, nulls);
		pfree(DatumGetPointer(values[COL_LABEL]));
	}
}

/*
 * flamechart(selector, from_ts, to_ts, width, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_flamechart(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, ARG_FILTERS);
	int64 width_us =
		PG_ARGISNULL(ARG_WIDTH) ? 0 : pfs_step_us(PG_GETARG_INTERVAL_P(ARG_WIDTH), "width");
	pfs_series_table_hash *stack_set;
	PfsRowSorter *samples;
	PfsRowSorter *spans;
	Stacks stacks;

	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("flame charts are of delta types"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	if (pfs_sample_resolution(selection) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a flame chart needs samples, of which a part of the range has just sums"),
				 errhint("Begin the range where profstore.samples begins.")));
	samples = pfs_row_sorter_begin(SAMPLE_COLUMNS, SAMPLE_COLUMNS, work_mem / 2);
	stack_set = pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	read_samples(selection, samples, stack_set);
	stacks = resolve_stacks(stack_set, &filters);
	pfs_series_table_destroy(stack_set);
	spans = make_spans(selection, width_us, samples, &stacks);
	pfs_row_sorter_end(samples);
	put_spans(&rows, selection, spans, stacks.symbols);
	pfs_row_sorter_end(spans);
	return (Datum) 0;
}
