/*
 * trace_rows.h
 *		The samples of one trace or span: rows of profstore.trace_samples, which is stored
 *		beside samples.
 *
 * A row has the part of a sample's value that belongs to a span. The table is read through SPI as
 * the caller, so its privileges and row policies apply.
 */
#ifndef PFS_TRACE_ROWS_H
#define PFS_TRACE_ROWS_H

#include "profstore.h"

#include "utils/snapshot.h"

#include "select/selection.h"

typedef struct PfsTraceRows PfsTraceRows;

/* Begins reading. The selection must have a trace or a span. Reads with the active snapshot. */
PfsTraceRows *pfs_trace_rows_begin(const PfsSelection *selection);

/*
 * Fills arrays of times, series, stacks and values with at most room rows of the selection, in no
 * particular order. Returns their number; 0 at the end.
 */
uint32 pfs_trace_rows_next(PfsTraceRows *rows, int64 *const columns[4], uint32 room);

void pfs_trace_rows_end(PfsTraceRows *rows);

#endif
