/*
 * chart_spans.h
 *		Spans of a flame chart: a span is a frame that consecutive samples of a track have in
 *		common.
 */
#ifndef PFS_CHART_SPANS_H
#define PFS_CHART_SPANS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "base/row_sorter.h"

/* Columns of a span. Spans are sorted by the first PFS_SPAN_KEYS of them, in this order. */
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

/*
 * Returns a builder without spans, in CurrentMemoryContext. It sorts on disk beyond half of
 * work_mem.
 */
PfsChartSpans *pfs_chart_spans_begin(void);

/* Begins the next series: its samples follow, each of which lasts width_us microseconds. */
void pfs_chart_spans_begin_series(PfsChartSpans *spans, int32 series, int64 width_us);

/*
 * Adds a sample, which begins no earlier than the previous one. symbols are those of its frames,
 * outermost first.
 */
void pfs_chart_spans_add(PfsChartSpans *spans, TimestampTz time, int64 value, const uint32 *symbols,
						 uint32 depth);

/* Closes the open spans and returns all spans, sorted. The caller ends the sorter. */
PfsRowSorter *pfs_chart_spans_finish(PfsChartSpans *spans);

#endif
