/*
 * scan_counters.h
 *		Counts of segments, blocks and bytes that scans have read, in one process or several.
 */
#ifndef PFS_SCAN_COUNTERS_H
#define PFS_SCAN_COUNTERS_H

#include "profstore.h"

#include "port/atomics.h"

/* Counts of a scan's reads, for EXPLAIN and tests. */
typedef struct PfsScanCounters
{
	uint64 segments_total;
	uint64 segments_skipped;
	uint64 segments_summed; /* segments of which sums were read instead of rows */
	uint64 segments_read;
	uint64 blocks_read;
	uint64 blocks_skipped;
	uint64 bytes_read;
} PfsScanCounters;

void pfs_counters_add(PfsScanCounters *sum, const PfsScanCounters *counters);

/*
 * Counters of parallel workers, in shared memory. A segment that several workers have read counts
 * for each.
 */
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
/* Moves the shared counts into counters: adds them there and resets them to 0. */
void pfs_shared_counters_take(PfsSharedCounters *shared, PfsScanCounters *counters);

#endif
