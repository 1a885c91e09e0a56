/*
 * scan_counters.h
 *		What scans have read, in one process and in several.
 */
#ifndef PFS_SCAN_COUNTERS_H
#define PFS_SCAN_COUNTERS_H

#include "profstore.h"

#include "port/atomics.h"

/* What a scan touched, for EXPLAIN and tests. */
typedef struct PfsScanCounters
{
	uint64 segments_total;
	uint64 segments_skipped;
	uint64 segments_summed; /* sums stood for their rows */
	uint64 segments_read;
	uint64 blocks_read;
	uint64 blocks_skipped;
	uint64 bytes_read;
} PfsScanCounters;

void pfs_counters_add(PfsScanCounters *sum, const PfsScanCounters *counters);

/* What workers have counted, in shared memory; a segment that several have read counts for each. */
typedef struct PfsSharedCounters
{
	pg_atomic_uint64 segments_skipped;
	pg_atomic_uint64 segments_summed;
	pg_atomic_uint64 segments_read;
	pg_atomic_uint64 blocks_read;
	pg_atomic_uint64 blocks_skipped;
	pg_atomic_uint64 bytes_read;
} PfsSharedCounters;

void pfs_shared_counters_init(PfsSharedCounters *shared);
void pfs_shared_counters_add(PfsSharedCounters *shared, const PfsScanCounters *counters);
/* Adds what was counted to counters, and takes it away. */
void pfs_shared_counters_take(PfsSharedCounters *shared, PfsScanCounters *counters);

#endif
