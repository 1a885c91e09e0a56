/*
 * tiers.h
 *		The tiers: sums that replace old samples, as queries read them.
 *
 * A sample is in samples or in one tier, never in two. A bucket of a tier belongs to a range if it
 * starts in the range. store/compact/tier_sums.h describes its rows.
 */
#ifndef PFS_TIERS_H
#define PFS_TIERS_H

#include "profstore.h"

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

typedef struct PfsTier
{
	const char *name;  /* "minute", for users and in arguments */
	const char *table; /* in schema profstore */
	int64 width_us;	   /* width of its buckets */
} PfsTier;

#define PFS_TIER_COUNT 2

extern const PfsTier pfs_tiers[PFS_TIER_COUNT]; /* from fine to coarse */

/*
 * Returns the end of the last bucket in the partitions, or DT_NOBEGIN. Partitions are Oids in
 * ascending order of time, locked by the caller; those of other access methods are ignored.
 */
TimestampTz pfs_tier_end(const PfsTier *tier, const List *partitions, Snapshot snapshot);

/*
 * Returns the first time, at or after the given one, at which stored rows may begin. ends has the
 * end of each tier, from fine to coarse. If a tier ends after the time, the result is the start of
 * a bucket of the coarsest such tier; otherwise it is the time itself.
 */
TimestampTz pfs_tier_round_up(const TimestampTz *ends, TimestampTz time);

/*
 * Raises a NOTICE that samples before the time end are sums of the tier. It is raised once per
 * statement.
 */
void pfs_tier_notice(const PfsTier *tier, TimestampTz end);

#endif
