/*
 * chart_spans.h
 *		Spans of a flame chart from its samples: frames that neighbours on a track have in common.
 */
#ifndef PFS_CHART_SPANS_H
#define PFS_CHART_SPANS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "base/row_sorter.h"

/* Columns of spans, by which they are sorted up to PFS_SPAN_KEYS. */
enum
{
	PFS_SPAN_SERIES,
	PFS_SPAN_TRACK,
	PFS_SPAN_START,
	PFS_SPAN_LEVEL,
	PFS_SPAN_KEYS,
	PFS_SPAN_END = PFS_SPAN_KEYS,
	PFS_SPAN_SYMBOL,
	PFS_SPAN_SAMPLES,
	PFS_SPAN_VALUE,
	PFS_SPAN_COLUMNS
};

typedef struct PfsChartSpans PfsChartSpans;

/* No spans yet. Lives in CurrentMemoryContext; sorts on disk beyond half of work_mem. */
PfsChartSpans *pfs_chart_spans_begin(void);

/* Samples of another series follow, which last so many microseconds. */
void pfs_chart_spans_begin_series(PfsChartSpans *spans, int32 series, int64 width_us);

/* A sample, by ascending time: the symbols of its frames, outermost first. */
void pfs_chart_spans_add(PfsChartSpans *spans, TimestampTz time, int64 value, const uint32 *symbols,
						 uint32 depth);

/* After the last sample: all spans, sorted. The caller ends them. */
PfsRowSorter *pfs_chart_spans_finish(PfsChartSpans *spans);

#endif
