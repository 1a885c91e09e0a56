/*
 * traces.h
 *		Rows of profstore.trace_samples that have lost their samples.
 */
#ifndef PFS_TRACES_H
#define PFS_TRACES_H

#include "profstore.h"

/*
 * Deletes the rows of traces whose samples are no longer in the partition of profstore.samples, and
 * returns their number; 0 for any other table. Runs as the current user. SPI must be connected.
 */
int64 pfs_forget_traces(Oid partition);

/*
 * Returns the number of rows of traces without a sample in the partition of profstore.samples, by
 * the active snapshot; 0 for any other table. Row policies do not reduce the count, so the caller
 * must have checked that the user may read trace_samples.
 */
int64 pfs_lost_traces(Oid partition);

#endif
