/*
 * chart_spans.c
 *		Keeps the open spans of each track. A sample ends the spans whose frames it does not have.
 */
#include "views/charts/chart_spans.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "dictionary/cache/doubts.h"
#include "views/charts/chart_tracks.h"

typedef struct Span
{
	uint32 symbol;
	TimestampTz start;
	int64 samples;
	int128 value;
} Span;

typedef struct Track
{
	TimestampTz last; /* start of its latest sample */
	uint32 depth;
	uint32 capacity;
	Span *open; /* the open spans, by level */
} Track;

struct PfsChartSpans
{
	int32 series;
	int64 width_us;
	PfsTracks *choice;
	int32 track_count;
	uint32 track_capacity; /* size of tracks; memory of open spans is kept for the next series */
	Track *tracks;
	PfsRowSorter *sorter; /* closed spans of all series so far */
};

/* Closes the open spans of a track at this level and all deeper levels. */
static void
track_close_spans(PfsChartSpans *spans, int32 number, uint32 level, TimestampTz end)
{
	Track *track = &spans->tracks[number];

	for (uint32 i = level; i < track->depth; i++)
	{
		const Span *span = &track->open[i];
		int64 values[PFS_SPAN_COLUMNS];

		values[PFS_SPAN_SERIES] = spans->series;
		values[PFS_SPAN_TRACK] = number;
		values[PFS_SPAN_START] = span->start;
		values[PFS_SPAN_LEVEL] = i;
		values[PFS_SPAN_END] = end;
		values[PFS_SPAN_SYMBOL] = span->symbol;
		values[PFS_SPAN_SAMPLES] = span->samples;
		values[PFS_SPAN_VALUE] = pfs_clip(span->value);
		pfs_row_sorter_put(spans->sorter, values);
	}
	track->depth = Min(track->depth, level);
}

/* Returns the track of that number. If the series has no such track yet, adds it. */
static Track *
get_track(PfsChartSpans *spans, int32 number, TimestampTz time)
{
	uint32 known = spans->track_capacity;
	Track *track;

	PFS_RESERVE(spans->tracks, spans->track_capacity, (uint64) number + 1);
	memset(spans->tracks + known, 0, (Size) (spans->track_capacity - known) * sizeof(Track));
	track = &spans->tracks[number];
	if (number == spans->track_count)
	{
		spans->track_count++;
		track->last = time;
		track->depth = 0;
	}
	return track;
}

void
pfs_chart_spans_add(PfsChartSpans *spans, TimestampTz time, int64 value, const uint32 *symbols,
					uint32 depth)
{
	int32 number = pfs_tracks_choose(spans->choice, time);
	Track *track = get_track(spans, number, time);
	uint32 common = 0;

	if (time - track->last > spans->width_us + spans->width_us / 2)
		track_close_spans(spans, number, 0, track->last + spans->width_us);
	while (common < track->depth && common < depth && track->open[common].symbol == symbols[common])
		common++;
	track_close_spans(spans, number, common, time);
	PFS_RESERVE(track->open, track->capacity, depth);
	for (uint32 i = 0; i < depth; i++)
	{
		Span *span = &track->open[i];

		if (i >= common)
			*span = (Span){ .symbol = symbols[i], .start = time };
		span->samples++;
		span->value += value;
	}
	track->depth = depth;
	track->last = time;
}

/* Closes all open spans at the end of a series. */
static void
end_series(PfsChartSpans *spans)
{
	for (int32 track = 0; track < spans->track_count; track++)
		track_close_spans(spans, track, 0, spans->tracks[track].last + spans->width_us);
	spans->track_count = 0;
}

PfsChartSpans *
pfs_chart_spans_begin(void)
{
	PfsChartSpans *spans = palloc0(sizeof(PfsChartSpans));

	spans->choice = pfs_tracks_create();
	spans->sorter = pfs_row_sorter_begin(PFS_SPAN_COLUMNS, PFS_SPAN_KEYS, work_mem / 2);
	return spans;
}

void
pfs_chart_spans_begin_series(PfsChartSpans *spans, int32 series, int64 width_us)
{
	end_series(spans);
	spans->series = series;
	spans->width_us = width_us;
	pfs_tracks_reset(spans->choice, width_us);
}

PfsRowSorter *
pfs_chart_spans_finish(PfsChartSpans *spans)
{
	end_series(spans);
	pfs_row_sorter_sort(spans->sorter);
	pfs_memory_look();
	return spans->sorter;
}
