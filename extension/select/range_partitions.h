/*
 * range_partitions.h
 *		The partitions of samples and tiers that overlap a range of time.
 *
 * Only partitions whose bounds overlap the range are opened. All functions take AccessShareLock on
 * the tables that they read, until the end of the transaction.
 */
#ifndef PFS_RANGE_PARTITIONS_H
#define PFS_RANGE_PARTITIONS_H

#include "profstore.h"

#include "nodes/pg_list.h"

#include "select/selection.h"
#include "select/tiers.h"

/*
 * Appends the OIDs of the leaves below a table that can hold rows of the range, in ascending order
 * of time; the table itself if it is not partitioned.
 */
List *pfs_partitions_collect(List *leaves, Oid relid, TimestampTz from, TimestampTz to);

/*
 * Like pfs_partitions_collect(), for a tier. Raises INSUFFICIENT_PRIVILEGE if the caller may not
 * read it.
 */
List *pfs_tier_partitions(const PfsTier *tier, const PfsSelection *selection);

/*
 * Finds for each tier the end of its last bucket in the partitions that overlap the range, or
 * DT_NOBEGIN. If the tiers are distributed, the partitions are those of the shards.
 */
void pfs_find_tier_ends(const PfsSelection *selection, TimestampTz *ends);

/*
 * Returns the width in microseconds of the coarsest buckets in the range; 0 if the range has only
 * samples.
 */
int64 pfs_sample_resolution(const PfsSelection *selection);

/*
 * Returns the length in microseconds of the time that the stored rows of the range cover. For
 * samples it is the length of the range. In tiers, rows are whole buckets, so the buckets that
 * start in the range count. Both ends of the range must be finite.
 */
int64 pfs_sample_covered_us(const PfsSelection *selection);

#endif
