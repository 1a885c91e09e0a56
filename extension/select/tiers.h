/*
 * tiers.h
 *		The tiers: what queries know of the sums that old samples have become.
 *
 * A sample is in samples or in one tier, never in two. A bucket of a tier counts if its start lies
 * in the range. store/compact/tier_sums.h tells what its rows are.
 */
#ifndef PFS_TIERS_H
#define PFS_TIERS_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

typedef struct PfsTier
{
	const char *name;  /* "minute", for people and in arguments */
	const char *table; /* in schema profstore */
	int64 width_us;	   /* of its buckets */
} PfsTier;

#define PFS_TIER_COUNT 2

extern const PfsTier pfs_tiers[PFS_TIER_COUNT]; /* from fine to coarse */

/*
 * The end of the last bucket that the partitions hold, or DT_NOBEGIN. Partitions are Oids, those of
 * later times last, locked by the caller; those of other access methods are not looked at.
 */
TimestampTz pfs_tier_end(const PfsTier *tier, const List *partitions, Snapshot snapshot);

/*
 * The first moment at or after a time at which something stored may begin, where tiers end as told,
 * from fine to coarse: the start of a bucket of the coarsest tier whose end is later; beyond all of
 * them the time itself.
 */
TimestampTz pfs_tier_round_up(const TimestampTz *ends, TimestampTz time);

/* A NOTICE that samples before the time are sums of the tier, once in a statement. */
void pfs_tier_notice(const PfsTier *tier, TimestampTz end);

#endif
