/*
 * traces.h
 *		Rows of profstore.trace_samples against the samples that they are parts of.
 */
#ifndef PFS_TRACES_H
#define PFS_TRACES_H

#include "profstore.h"

/*
 * Removes the rows whose samples a partition of profstore.samples has no more, and returns how
 * many; 0 for any other table. Runs as the current user, with SPI connected.
 */
int64 pfs_forget_traces(Oid partition);

/*
 * How many rows have no sample in the partition, which is one of profstore.samples (else 0), by the
 * active snapshot. The caller has looked whether the user may know: it counts whatever the user may
 * read.
 */
int64 pfs_lost_traces(Oid partition);

#endif
