/*
 * shared_samples.h
 *		Shared state of processes that read the samples of a selection together: each row goes
 *		to one of them.
 *
 * It lies in shared memory. The leader puts the list of partitions and its waiting rows there;
 * workers read the partitions under the leader's snapshot.
 */
#ifndef PFS_SHARED_SAMPLES_H
#define PFS_SHARED_SAMPLES_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "port/atomics.h"

#include "select/tiers.h"
#include "store/scan/scan_counters.h"
#include "store/scan/shared_scan.h"

typedef struct PfsSharedPartition
{
	Oid relid;
	/* offset of the partition's shared scan from the start; 0 if it has another access method */
	Size scan_offset;
	/* set by the process that reads a partition of another access method */
	pg_atomic_uint32 is_taken;
} PfsSharedPartition;

typedef struct PfsSharedSamples
{
	PfsSharedCounters counters; /* counters of workers */
	TimestampTz tier_ends[PFS_TIER_COUNT];
	int tier_partitions; /* number of partitions of tiers, which are the last ones */
	int partition_count;
	PfsSharedPartition partitions[FLEXIBLE_ARRAY_MEMBER];
} PfsSharedSamples;

/* Returns the bytes for a list of partitions, as Oids, which the leader has locked. */
Size pfs_shared_samples_bytes(const List *partitions);
void pfs_shared_samples_init(PfsSharedSamples *shared, const List *partitions, int tier_partitions,
							 const TimestampTz *tier_ends);

/*
 * Returns the shared scan of a partition. Returns NULL for a partition of another access method,
 * which is read by one process.
 */
PfsSharedScan *pfs_shared_samples_scan(PfsSharedSamples *shared, int partition);
bool pfs_shared_samples_take(PfsSharedSamples *shared, int partition);

#endif
