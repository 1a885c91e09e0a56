/*
 * flamechart.c
 *		flamechart(): what ran when, for series whose samples keep their times.
 *
 * Samples of one series that overlap come from several processors or threads: each track holds those that follow one
 * another. Frames that neighbouring samples of a track have in common, from the root on, are one span.
 *
 * Samples are sorted on their way in and spans on their way out, each within half of work_mem and on disk beyond it. So are
 * the distinct stacks and their frames, in shares of their own. Held in memory are the spans that are open.
 */
#include "profstore.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/row_sorter.h"
#include "base/srf.h"
#include "dictionary/doubts.h"
#include "merge/stack_stream.h"
#include "merge/stack_table.h"
#include "miscadmin.h"
#include "select/buckets.h"
#include "select/range_partitions.h"
#include "select/sample_scan.h"
#include "tree/stack_frames.h"
#include "tree/stack_verdicts.h"
#include "tree/symbols.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "views/chart_tracks.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_WIDTH = 3,
	ARG_FILTERS
};

enum
{
	COL_SERIES_ID,
	COL_TRACK,
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

#define INITIAL_DEPTH 64

/* Columns of samples while they are sorted. */
enum
{
	SAMPLE_SERIES, /* PfsSeries.index */
	SAMPLE_TIME,
	SAMPLE_STACK,
	SAMPLE_VALUE, /* a key as well: tracks are the same however rows were sorted */
	SAMPLE_COLUMNS
};

/* Columns of spans while they are sorted. */
enum
{
	SPAN_SERIES,
	SPAN_TRACK,
	SPAN_START,
	SPAN_LEVEL,
	SPAN_KEYS,
	SPAN_END = SPAN_KEYS,
	SPAN_SYMBOL,
	SPAN_SAMPLES,
	SPAN_VALUE,
	SPAN_COLUMNS
};

/* Shares of the memory: stacks that samples have, and their frames; parts of the stacks take half of it (stack_sums.h). */
#define STACKS_SHARE(bytes) ((bytes) / 2)
#define FRAMES_SHARE(bytes) ((bytes) / 4)

/* The frames of a stack while they are put together, outermost first; none where the filters drop it. */
typedef struct FramePath
{
	uint32 count;
	uint32 capacity;
	uint32 *symbols;
} FramePath;

typedef struct Span
{
	uint32 symbol;
	TimestampTz start;
	int64 samples;
	int128 value;
} Span;

typedef struct Track
{
	TimestampTz last; /* when its latest sample began */
	uint32 depth;
	uint32 capacity;
	Span *open; /* by level */
} Track;

typedef struct Chart
{
	int32 series;
	int64 width_us;
	PfsTracks *choice;
	int32 track_count;
	uint32 track_capacity; /* tracks that have memory for open spans, of this series or another */
	Track *tracks;
	PfsRowSorter *spans; /* of all series so far */
} Chart;

PG_FUNCTION_INFO_V1(profstore_flamechart);

/* Gives all samples to the sorter, and every stack to the table, each time as 1: sums of 0 are no stacks to it. */
static void
read_samples(const PfsSelection *selection, PfsRowSorter *samples, PfsStackTable *stacks)
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

			if (block.values[row] == 0)
				continue;
			series = pfs_selection_next_series(selection, series, block.series[row]);
			values[SAMPLE_SERIES] = series->index;
			values[SAMPLE_TIME] = block.times[row];
			values[SAMPLE_STACK] = block.stacks[row];
			values[SAMPLE_VALUE] = block.values[row];
			pfs_row_sorter_put(samples, values);
			pfs_stack_table_add(stacks, block.stacks[row], 1, 0);
		}
	}
	pfs_sample_scan_end(scan);
	pfs_row_sorter_sort(samples);
}

/*
 * The frames from the root to a node. With folding, neighbours of one name are one frame.
 */
static void
resolve_stack(FramePath *path, const PfsStackSubset *subset, uint32 leaf, PfsSymbols *symbols,
			  bool folding)
{
	uint32 length = 0;
	uint32 end;

	for (uint32 node = leaf; node != 0; node = subset->shape.parents[node])
		length += pfs_symbols_frames(symbols, subset->shape.locations[node]).count;
	PFS_RESERVE(path->symbols, path->capacity, length);
	end = length;
	for (uint32 node = leaf; node != 0; node = subset->shape.parents[node])
	{
		PfsFrames frames = pfs_symbols_frames(symbols, subset->shape.locations[node]);

		for (uint32 i = frames.count; i > 0; i--)
			path->symbols[--end] = frames.frames[i - 1].symbol;
	}
	path->count = 0;
	for (uint32 i = 0; i < length; i++)
	{
		if (folding && path->count > 0 && path->symbols[path->count - 1] == path->symbols[i])
			continue;
		path->symbols[path->count++] = path->symbols[i];
	}
}

/* Puts the frames of some stacks; what it allocates goes with the context. */
static void
resolve_part(const PfsStackSums *part, PfsSymbols *symbols, FramePath *path, PfsStackFrames *frames)
{
	bool folding = pfs_filters_fold(pfs_symbols_filters(symbols));
	PfsStackSubsets subsets = pfs_stack_subsets_begin(part, true);
	PfsStackSubset subset;

	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing;

		pfs_stack_subset_load_names(&subset);
		passing = pfs_stacks_passing(&subset, symbols);
		for (uint32 i = 0; i < subset.stack_count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			path->count = 0;
			if (passing == NULL || passing[i])
				resolve_stack(path, &subset, subset.leaves[i], symbols, folding);
			pfs_stack_frames_put(frames, subset.stacks[i].stack_id, path->symbols, path->count);
		}
	}
}

/* The frames of all stacks of the table, which go part by part, so that the sums of few are in memory at a time. */
static PfsStackFrames *
resolve_stacks(PfsStackTable *stacks, PfsSymbols *symbols)
{
	PfsStackFrames *frames = pfs_stack_frames_begin(FRAMES_SHARE(pfs_hash_memory_bytes()));
	uint32 room = (uint32) Min(pfs_stack_table_finish(stacks), pfs_stack_stream_room());
	PfsStackSums part = { 0, PFS_ARRAY(PfsStackSum, room) };
	FramePath path = { 0, INITIAL_DEPTH, PFS_ARRAY(uint32, INITIAL_DEPTH) };
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore part of a flame chart",
							  ALLOCSET_DEFAULT_SIZES);

	while ((part.count = pfs_stack_table_read(stacks, part.sums, room)) > 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		resolve_part(&part, symbols, &path, frames);
		pfs_memory_look();
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	pfree(path.symbols);
	pfree(part.sums);
	return frames;
}

/* Closes the spans of a track from a level on. */
static void
close_spans(Chart *chart, int32 number, uint32 level, TimestampTz end)
{
	Track *track = &chart->tracks[number];

	for (uint32 i = level; i < track->depth; i++)
	{
		const Span *span = &track->open[i];
		int64 values[SPAN_COLUMNS];

		values[SPAN_SERIES] = chart->series;
		values[SPAN_TRACK] = number;
		values[SPAN_START] = span->start;
		values[SPAN_LEVEL] = i;
		values[SPAN_END] = end;
		values[SPAN_SYMBOL] = span->symbol;
		values[SPAN_SAMPLES] = span->samples;
		values[SPAN_VALUE] = pfs_clip(span->value);
		pfs_row_sorter_put(chart->spans, values);
	}
	track->depth = Min(track->depth, level);
}

/* The track of that number, which is one of the series' or the next one. */
static Track *
get_track(Chart *chart, int32 number, TimestampTz time)
{
	uint32 known = chart->track_capacity;
	Track *track;

	PFS_RESERVE(chart->tracks, chart->track_capacity, (uint64) number + 1);
	memset(chart->tracks + known, 0, (Size) (chart->track_capacity - known) * sizeof(Track));
	track = &chart->tracks[number];
	if (number == chart->track_count)
	{
		chart->track_count++;
		track->last = time;
		track->depth = 0;
	}
	return track;
}

static void
add_sample(Chart *chart, const int64 *sample, const uint32 *symbols, uint32 depth)
{
	TimestampTz time = sample[SAMPLE_TIME];
	int32 number = pfs_tracks_choose(chart->choice, time);
	Track *track = get_track(chart, number, time);
	uint32 common = 0;

	if (time - track->last > chart->width_us + chart->width_us / 2)
		close_spans(chart, number, 0, track->last + chart->width_us);
	while (common < track->depth && common < depth && track->open[common].symbol == symbols[common])
		common++;
	close_spans(chart, number, common, time);
	PFS_RESERVE(track->open, track->capacity, depth);
	for (uint32 i = 0; i < depth; i++)
	{
		Span *span = &track->open[i];

		if (i >= common)
			*span = (Span){ .symbol = symbols[i], .start = time };
		span->samples++;
		span->value += sample[SAMPLE_VALUE];
	}
	track->depth = depth;
	track->last = time;
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
	for (int32 track = 0; track < chart->track_count; track++)
		close_spans(chart, track, 0, chart->tracks[track].last + chart->width_us);
	chart->track_count = 0;
}

/* The spans of all samples, sorted. */
static PfsRowSorter *
make_spans(const PfsSelection *selection, int64 width_us, PfsRowSorter *samples,
		   PfsStackFrames *frames)
{
	Chart chart = { .series = -1 };
	int64 sample[SAMPLE_COLUMNS];

	chart.choice = pfs_tracks_create();
	chart.spans = pfs_row_sorter_begin(SPAN_COLUMNS, SPAN_KEYS, work_mem / 2);
	while (pfs_row_sorter_next(samples, sample))
	{
		const uint32 *symbols;
		uint32 depth;

		CHECK_FOR_INTERRUPTS();
		if (chart.series != sample[SAMPLE_SERIES])
		{
			end_series(&chart);
			chart.series = (int32) sample[SAMPLE_SERIES];
			chart.width_us = width_us > 0 ? width_us : default_width(selection, chart.series);
			pfs_tracks_reset(chart.choice, chart.width_us);
		}
		symbols = pfs_stack_frames_get(frames, sample[SAMPLE_STACK], &depth);
		add_sample(&chart, sample, symbols, depth);
	}
	end_series(&chart);
	pfs_row_sorter_sort(chart.spans);
	pfs_memory_look();
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
put_spans(const PfsResult *result, const PfsSelection *selection, PfsRowSorter *spans,
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
		values[COL_TRACK] = Int32GetDatum((int32) span[SPAN_TRACK]);
		values[COL_LEVEL] = Int32GetDatum((int32) span[SPAN_LEVEL]);
		values[COL_START] = TimestampTzGetDatum(span[SPAN_START]);
		values[COL_END] = TimestampTzGetDatum(span[SPAN_END]);
		values[COL_LABEL] =
			CStringGetTextDatum(pfs_symbol_name(symbols, (uint32) span[SPAN_SYMBOL]));
		values[COL_SAMPLES] = Int64GetDatum(span[SPAN_SAMPLES]);
		values[COL_VALUE] = Int64GetDatum(span[SPAN_VALUE]);
		values[COL_LABELS] = JsonbPGetDatum(series->labels);
		pfs_result_put(result, values, nulls);
		pfree(DatumGetPointer(values[COL_LABEL]));
	}
}

/*
 * flamechart(selector, from_ts, to_ts, width, focus, ignore, show, hide, granularity)
 */
PGDLLEXPORT Datum
profstore_flamechart(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_frame_filters_get(fcinfo, ARG_FILTERS);
	int64 width_us =
		PG_ARGISNULL(ARG_WIDTH) ? 0 : pfs_step_us(PG_GETARG_INTERVAL_P(ARG_WIDTH), "width");
	PfsStackTable *stacks;
	PfsSymbols *symbols;
	PfsStackFrames *frames;
	PfsRowSorter *samples;
	PfsRowSorter *spans;

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
	stacks = pfs_stack_table_begin(0, STACKS_SHARE(pfs_hash_memory_bytes()));
	read_samples(selection, samples, stacks);
	pfs_dictionary_begin();
	symbols = pfs_symbols_create(&filters);
	frames = resolve_stacks(stacks, symbols);
	pfs_stack_table_end(stacks);
	spans = make_spans(selection, width_us, samples, frames);
	pfs_row_sorter_end(samples);
	pfs_stack_frames_end(frames);
	put_spans(&result, selection, spans, symbols);
	pfs_row_sorter_end(spans);
	return (Datum) 0;
}
