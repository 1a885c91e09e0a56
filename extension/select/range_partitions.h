/*
 * range_partitions.h
 *		The partitions of samples and of the tiers that a time range meets.
 *
 * Only partitions whose bounds meet the range are opened. All take AccessShareLock on what they
 * look at, until the end of the transaction.
 */
#ifndef PFS_RANGE_PARTITIONS_H
#define PFS_RANGE_PARTITIONS_H

#include "profstore.h"

#include "nodes/pg_list.h"

#include "select/selection.h"
#include "select/tiers.h"

/*
 * Appends the OIDs of the leaves below a table that can hold rows from a time to another, those of
 * later times last; the table itself where it is no parent.
 */
List *pfs_partitions_collect(List *leaves, Oid relid, TimestampTz from, TimestampTz to);

/* Those of a tier, which the caller may read: raises INSUFFICIENT_PRIVILEGE otherwise. */
List *pfs_tier_partitions(const PfsTier *tier, const PfsSelection *selection);

/*
 * The width in microseconds of the coarsest buckets that the range meets; 0 where there are just
 * samples.
 */
int64 pfs_sample_resolution(const PfsSelection *selection);

/*
 * The microseconds that what is stored in the range stands for, as far as tiers tell. Theirs are
 * whole buckets, a bucket counting where it begins; that of samples is as the range has it. Both
 * ends of the range are finite.
 */
int64 pfs_sample_covered_us(const PfsSelection *selection);

#endif
