/*
 * shared_samples.h
 *		What processes share that read the samples of a selection together: each row comes to one.
 *
 * Lies in shared memory. The leader lists partitions, and carries its waiting rows there; workers
 * read the same list under the same snapshot.
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
	Size scan_offset;		   /* from the beginning; 0: of another access method */
	pg_atomic_uint32 is_taken; /* then: by the one process that reads it */
} PfsSharedPartition;

typedef struct PfsSharedSamples
{
	PfsSharedCounters counters; /* of workers */
	TimestampTz tier_ends[PFS_TIER_COUNT];
	int tier_partitions; /* so many, the last ones, are of tiers */
	int partition_count;
	PfsSharedPartition partitions[FLEXIBLE_ARRAY_MEMBER];
} PfsSharedSamples;

/* Partitions are Oids, which the leader has locked. */
Size pfs_shared_samples_bytes(const List *partitions);
void pfs_shared_samples_init(PfsSharedSamples *shared, const List *partitions, int tier_partitions,
							 const TimestampTz *tier_ends);

/* NULL where the partition is of another access method: then one process takes it. */
PfsSharedScan *pfs_shared_samples_scan(PfsSharedSamples *shared, int partition);
bool pfs_shared_samples_take(PfsSharedSamples *shared, int partition);

#endif
