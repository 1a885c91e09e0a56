/*
 * trace_rows.h
 *		The samples of one trace or span: rows of profstore.trace_samples, beside samples.
 *
 * A row says which part of a sample's value a span brought about. The table is read through SPI as
 * the caller, so its privileges and row policies hold.
 */
#ifndef PFS_TRACE_ROWS_H
#define PFS_TRACE_ROWS_H

#include "profstore.h"

#include "utils/snapshot.h"

#include "select/selection.h"

typedef struct PfsTraceRows PfsTraceRows;

/* The selection names a trace or a span. Sees what the active snapshot sees. */
PfsTraceRows *pfs_trace_rows_begin(const PfsSelection *selection);

/*
 * Puts at most so many rows of the selection into arrays of times, series, stacks and values, in no
 * particular order. Returns their number; 0 at the end.
 */
uint32 pfs_trace_rows_next(PfsTraceRows *rows, int64 *const columns[4], uint32 room);

void pfs_trace_rows_end(PfsTraceRows *rows);

#endif
