/*
 * flamechart.c
 *		flamechart(): the frames that ran at each time, for series whose samples keep their
 *		times.
 *
 * 1. flamechart_read_samples(): one scan gives the samples to a sort, and their stacks to a table.
 * 2. resolve_stacks(): part by part, the frames of the stacks are resolved and stored by stack id.
 * 3. make_spans(): by series and time, samples with their frames become spans (chart_spans), which
 *    are sorted again.
 * 4. put_spans(): spans become rows.
 *
 * Each sort has half of work_mem and goes to disk beyond it. The stacks and their frames have
 * shares of work_mem of their own.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/row_sorter.h"
#include "base/srf.h"
#include "merge/stack_stream.h"
#include "merge/stack_table.h"
#include "select/buckets.h"
#include "select/range_partitions.h"
#include "select/sample_scan.h"
#include "tree/frames/symbols.h"
#include "tree/stack_frames.h"
#include "tree/stack_verdicts.h"
#include "views/charts/chart_spans.h"

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

/* Width of a sample if the period of its series is not a time. */
#define DEFAULT_WIDTH_US (10 * 1000)

#define INITIAL_DEPTH 64

/* Columns of the sort of samples. */
enum
{
	SAMPLE_SERIES, /* PfsSeries.index */
	SAMPLE_TIME,
	SAMPLE_STACK,
	/* a sort key, so that tracks do not depend on the order of samples of equal time */
	SAMPLE_VALUE,
	SAMPLE_COLUMNS
};

/*
 * Shares of the memory for the table of stacks and for their frames. The part of the stacks that is
 * being resolved takes half of STACKS_SHARE (stack_sums.h).
 */
#define STACKS_SHARE(bytes) ((bytes) / 2)
#define FRAMES_SHARE(bytes) ((bytes) / 4)

/*
 * The frames of a stack while it is resolved, outermost first; empty if the filters drop the stack.
 */
typedef struct FramePath
{
	uint32 count;
	uint32 capacity;
	uint32 *symbols;
} FramePath;

PG_FUNCTION_INFO_V1(profstore_flamechart);

/*
 * Puts all samples into the sorter, and each stack into the table with the value 1: the table omits
 * stacks whose sum is 0.
 */
static void
flamechart_read_samples(const PfsSelection *selection, PfsRowSorter *samples, PfsStackTable *stacks)
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
 * Collects the frames from the root to a node. With folding, consecutive frames of one name become
 * one frame.
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

/*
 * Stores the frames of the stacks of one part. Its temporary allocations are made in a context that
 * it deletes.
 */
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

/*
 * Returns the frames of all stacks of the table. It reads the table part by part, so that few sums
 * are in memory at a time, and ends it.
 */
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

/*
 * Returns the width of a series' samples if the argument width is NULL: the period if it is a time,
 * otherwise DEFAULT_WIDTH_US.
 */
static int64
default_width(const PfsSelection *selection, int32 series)
{
	const char *unit = strrchr(selection->profile_type, ':');

	/* the last component of the profile type, apart from ":delta", is the unit of the period */
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

/* Converts all samples to spans and returns them, sorted. */
static PfsRowSorter *
make_spans(const PfsSelection *selection, int64 width_us, PfsRowSorter *samples,
		   PfsStackFrames *frames)
{
	PfsChartSpans *spans = pfs_chart_spans_begin();
	int32 series = -1;
	int64 sample[SAMPLE_COLUMNS];

	while (pfs_row_sorter_next(samples, sample))
	{
		const uint32 *symbols;
		uint32 depth;

		CHECK_FOR_INTERRUPTS();
		if (series != sample[SAMPLE_SERIES])
		{
			series = (int32) sample[SAMPLE_SERIES];
			pfs_chart_spans_begin_series(spans, series,
										 width_us > 0 ? width_us
													  : default_width(selection, series));
		}
		symbols = pfs_stack_frames_get(frames, sample[SAMPLE_STACK], &depth);
		pfs_chart_spans_add(spans, sample[SAMPLE_TIME], sample[SAMPLE_VALUE], symbols, depth);
	}
	return pfs_chart_spans_finish(spans);
}

/* Returns the series with the lowest id among those of an index; series are sorted by id. */
static const PfsSeries *
series_of(const PfsSelection *selection, int32 index)
{
	int i = 0;

	while (selection->series[i].index != index)
		i++;
	return &selection->series[i];
}

/* Puts all spans as rows. Returns true if there were none. */
static bool
put_spans(const PfsResult *result, const PfsSelection *selection, PfsRowSorter *spans,
		  const PfsSymbols *symbols)
{
	static const bool nulls[COL_COUNT] = { false };
	const PfsSeries *series = NULL;
	int64 span[PFS_SPAN_COLUMNS];

	while (pfs_row_sorter_next(spans, span))
	{
		Datum values[COL_COUNT];

		CHECK_FOR_INTERRUPTS();
		if (series == NULL || series->index != span[PFS_SPAN_SERIES])
			series = series_of(selection, (int32) span[PFS_SPAN_SERIES]);
		values[COL_SERIES_ID] = Int32GetDatum((int32) series->id);
		values[COL_TRACK] = Int32GetDatum((int32) span[PFS_SPAN_TRACK]);
		values[COL_LEVEL] = Int32GetDatum((int32) span[PFS_SPAN_LEVEL]);
		values[COL_START] = TimestampTzGetDatum(span[PFS_SPAN_START]);
		values[COL_END] = TimestampTzGetDatum(span[PFS_SPAN_END]);
		values[COL_LABEL] =
			CStringGetTextDatum(pfs_symbol_name(symbols, (uint32) span[PFS_SPAN_SYMBOL]));
		values[COL_SAMPLES] = Int64GetDatum(span[PFS_SPAN_SAMPLES]);
		values[COL_VALUE] = Int64GetDatum(span[PFS_SPAN_VALUE]);
		values[COL_LABELS] = JsonbPGetDatum(series->labels);
		pfs_result_put(result, values, nulls);
		pfree(DatumGetPointer(values[COL_LABEL]));
	}
	return series == NULL;
}

PGDLLEXPORT Datum
profstore_flamechart(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	const Datum *width = pfs_argument(fcinfo, "width");
	int64 width_us = width == NULL ? 0 : pfs_step_us(DatumGetIntervalP(*width), "width");
	PfsStackTable *stacks;
	PfsSymbols *symbols;
	PfsStackFrames *frames;
	PfsRowSorter *samples;
	PfsRowSorter *spans;

	if (!selection->delta)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("flame charts require a delta profile type"),
				 errdetail("Values of %s do not add up over time.", selection->profile_type)));
	if (pfs_sample_resolution(selection) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a flame chart needs individual samples, but part of the range is "
						"kept only as sums"),
				 errhint("Begin the range at or after the oldest time in profstore.samples.")));
	samples = pfs_row_sorter_begin(SAMPLE_COLUMNS, SAMPLE_COLUMNS, work_mem / 2);
	stacks = pfs_stack_table_begin(0, STACKS_SHARE(pfs_hash_memory_bytes()));
	flamechart_read_samples(selection, samples, stacks);
	pfs_dictionary_begin();
	symbols = pfs_symbols_create(&filters);
	frames = resolve_stacks(stacks, symbols);
	pfs_stack_table_end(stacks);
	spans = make_spans(selection, width_us, samples, frames);
	pfs_row_sorter_end(samples);
	pfs_stack_frames_end(frames);
	if (put_spans(&result, selection, spans, symbols))
		pfs_selection_tell_empty(selection);
	pfs_row_sorter_end(spans);
	return (Datum) 0;
}
