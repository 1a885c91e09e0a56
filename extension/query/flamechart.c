/*
 * flamechart.c
 *		flamechart(): what ran when, for series whose samples keep their times.
 *
 * Samples of one series that overlap come from several processors or threads: each lane holds those that follow one
 * another. Frames that neighbouring samples of a lane have in common, from the root on, are one span.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "query/allocate.h"
#include "query/buckets.h"
#include "query/sample_scan.h"
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

typedef struct Sample
{
	TimestampTz time;
	int64 stack_id;
	int64 value;
	int32 series; /* PfsSeries.index */
} Sample;

typedef struct Samples
{
	Size count;
	Size capacity;
	Sample *samples; /* by series, time and stack */
} Samples;

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
	int32 series;
	int32 lane;
	int32 level;
	uint32 symbol;
	TimestampTz start;
	TimestampTz end;
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
	int32 lane_count;
	int32 lane_capacity;
	Lane *lanes;
	Size span_count;
	Size span_capacity;
	Span *spans; /* of all series so far */
} Chart;

PG_FUNCTION_INFO_V1(profstore_flamechart);

static int
compare_samples(const void *a, const void *b)
{
	const Sample *left = a;
	const Sample *right = b;

	if (left->series != right->series)
		return left->series - right->series;
	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return (left->stack_id > right->stack_id) - (left->stack_id < right->stack_id);
}

static Samples
read_samples(const PfsSelection *selection)
{
	Samples list = { 0, 1024, PFS_ARRAY(Sample, 1024) };
	PfsSampleScan *scan = pfs_sample_scan_begin(selection, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES |
															   PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		if (list.count + block.row_count > list.capacity)
		{
			list.capacity = Max(list.capacity * 2, list.count + block.row_count);
			list.samples = repalloc_huge(list.samples, list.capacity * sizeof(Sample));
		}
		for (uint32 row = 0; row < block.row_count; row++)
		{
			if (block.values[row] == 0)
				continue;
			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			list.samples[list.count++] =
				(Sample){ block.times[row], block.stacks[row], block.values[row], series->index };
		}
	}
	pfs_sample_scan_end(scan);
	qsort(list.samples, list.count, sizeof(Sample), compare_samples);
	return list;
}

static int
compare_sums(const void *a, const void *b)
{
	int64 left = ((const PfsStackSum *) a)->stack_id;
	int64 right = ((const PfsStackSum *) b)->stack_id;

	return (left > right) - (left < right);
}

/* The distinct stacks, by id. */
static PfsStackSums
list_stacks(const Samples *list)
{
	PfsStackSums sums = { 0, PFS_ARRAY(PfsStackSum, list->count) };
	Size distinct = 0;

	for (Size i = 0; i < list->count; i++)
		sums.sums[i] = (PfsStackSum){ list->samples[i].stack_id, { 0, 0 } };
	qsort(sums.sums, list->count, sizeof(PfsStackSum), compare_sums);
	for (Size i = 0; i < list->count; i++)
	{
		if (distinct == 0 || sums.sums[distinct - 1].stack_id != sums.sums[i].stack_id)
			sums.sums[distinct++] = sums.sums[i];
	}
	if (distinct > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many stacks")));
	sums.count = (uint32) distinct;
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
resolve_stacks(const Samples *list, const PfsFilters *filters)
{
	bool folding = filters->granularity == PFS_BY_FILE || filters->granularity == PFS_BY_BINARY;
	PfsStackSums sums = list_stacks(list);
	Stacks stacks = { 0, PFS_ARRAY0(Stack, sums.count), NULL };
	PfsTouched touched;
	uint32 next = 0;

	pfs_dictionary_begin();
	stacks.symbols = pfs_symbols_create(filters);
	while (pfs_touched_next(&sums, &next, &touched))
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
close_spans(Chart *chart, Lane *lane, uint32 level, TimestampTz end)
{
	for (uint32 i = level; i < lane->depth; i++)
	{
		if (chart->span_count == chart->span_capacity)
		{
			chart->span_capacity *= 2;
			chart->spans = repalloc_huge(chart->spans, chart->span_capacity * sizeof(Span));
		}
		lane->open[i].end = end;
		chart->spans[chart->span_count++] = lane->open[i];
	}
	lane->depth = Min(lane->depth, level);
}

/*
 * The lane of a sample: the one that it continues best, else the first that is free, else a new one.
 */
static Lane *
choose_lane(Chart *chart, TimestampTz time)
{
	int64 width = chart->width_us;
	Lane *free_lane = NULL;
	Lane *best = NULL;
	int64 least = 0;

	for (int32 i = 0; i < chart->lane_count; i++)
	{
		Lane *lane = &chart->lanes[i];
		int64 passed = time - lane->last;
		int64 distance = passed < width ? width - passed : passed - width;

		if (passed < width / 2)
			continue;
		if (passed > width + width / 2)
			free_lane = free_lane ? free_lane : lane;
		else if (best == NULL || distance < least)
		{
			best = lane;
			least = distance;
		}
	}
	if (best != NULL || free_lane != NULL)
		return best != NULL ? best : free_lane;
	if (chart->lane_count == chart->lane_capacity)
	{
		chart->lane_capacity *= 2;
		chart->lanes = repalloc_huge(chart->lanes, (Size) chart->lane_capacity * sizeof(Lane));
	}
	best = &chart->lanes[chart->lane_count++];
	*best = (Lane){ .last = time, .capacity = 16, .open = palloc(16 * sizeof(Span)) };
	return best;
}

static void
add_sample(Chart *chart, const Sample *sample, const Stack *stack)
{
	Lane *lane = choose_lane(chart, sample->time);
	uint32 common = 0;

	if (sample->time - lane->last > chart->width_us + chart->width_us / 2)
		close_spans(chart, lane, 0, lane->last + chart->width_us);
	while (common < lane->depth && common < stack->count &&
		   lane->open[common].symbol == stack->symbols[common])
		common++;
	close_spans(chart, lane, common, sample->time);
	if (stack->count > lane->capacity)
	{
		lane->capacity = stack->count;
		lane->open = repalloc_huge(lane->open, (Size) lane->capacity * sizeof(Span));
	}
	for (uint32 i = 0; i < stack->count; i++)
	{
		Span *span = &lane->open[i];

		if (i >= common)
			*span = (Span){ .series = chart->series,
							.lane = (int32) (lane - chart->lanes),
							.level = (int32) i,
							.symbol = stack->symbols[i],
							.start = sample->time };
		span->samples++;
		span->value = pfs_add_values(span->value, sample->value);
	}
	lane->depth = stack->count;
	lane->last = sample->time;
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

static int
compare_spans(const void *a, const void *b)
{
	const Span *left = a;
	const Span *right = b;

	if (left->series != right->series)
		return left->series - right->series;
	if (left->lane != right->lane)
		return left->lane - right->lane;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->level - right->level;
}

static Chart
make_chart(const PfsSelection *selection, int64 width_us, const Samples *list, const Stacks *stacks)
{
	Chart chart = { .lane_capacity = 8, .span_capacity = 1024 };
	Size i = 0;

	chart.lanes = PFS_ARRAY(Lane, chart.lane_capacity);
	chart.spans = PFS_ARRAY(Span, chart.span_capacity);
	while (i < list->count)
	{
		chart.series = list->samples[i].series;
		chart.width_us = width_us > 0 ? width_us : default_width(selection, chart.series);
		chart.lane_count = 0;
		for (; i < list->count && list->samples[i].series == chart.series; i++)
		{
			CHECK_FOR_INTERRUPTS();
			add_sample(&chart, &list->samples[i], find_stack(stacks, list->samples[i].stack_id));
		}
		for (int32 lane = 0; lane < chart.lane_count; lane++)
		{
			close_spans(&chart, &chart.lanes[lane], 0, chart.lanes[lane].last + chart.width_us);
			pfree(chart.lanes[lane].open);
		}
	}
	qsort(chart.spans, chart.span_count, sizeof(Span), compare_spans);
	return chart;
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
put_spans(const PfsRows *rows, const PfsSelection *selection, const Chart *chart,
		  const PfsSymbols *symbols)
{
	static const bool nulls[COL_COUNT] = { false };
	const PfsSeries *series = NULL;

	for (Size i = 0; i < chart->span_count; i++)
	{
		const Span *span = &chart->spans[i];
		Datum values[COL_COUNT];

		if (series == NULL || series->index != span->series)
			series = series_of(selection, span->series);
		values[COL_SERIES_ID] = Int32GetDatum((int32) series->id);
		values[COL_LANE] = Int32GetDatum(span->lane);
		values[COL_LEVEL] = Int32GetDatum(span->level);
		values[COL_START] = TimestampTzGetDatum(span->start);
		values[COL_END] = TimestampTzGetDatum(span->end);
		values[COL_LABEL] = CStringGetTextDatum(pfs_symbol_name(symbols, span->symbol));
		values[COL_SAMPLES] = Int64GetDatum(span->samples);
		values[COL_VALUE] = Int64GetDatum(span->value);
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
	Samples list;
	Stacks stacks;
	Chart chart;

	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("flame charts are of delta types"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	if (pfs_sample_resolution(selection) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a flame chart needs samples, of which a part of the range has just sums"),
				 errhint("Begin the range where profstore.samples begins.")));
	list = read_samples(selection);
	stacks = resolve_stacks(&list, &filters);
	chart = make_chart(selection, width_us, &list, &stacks);
	put_spans(&rows, selection, &chart, stacks.symbols);
	return (Datum) 0;
}
