/*
 * tiers.c
 *		Which tiers there are, and how far they reach.
 */
#include "select/tiers.h"

#include "access/table.h"
#include "access/xact.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "select/buckets.h"
#include "store/compact/retention.h"
#include "tableam/table_am.h"

const PfsTier pfs_tiers[PFS_TIER_COUNT] = {
	{ "minute", "samples_minute", USECS_PER_MINUTE },
	{ "hour", "samples_hour", USECS_PER_HOUR },
};

TimestampTz
pfs_tier_end(const PfsTier *tier, const List *partitions, Snapshot snapshot)
{
	for (int i = list_length(partitions) - 1; i >= 0; i--)
	{
		Relation relation = table_open(list_nth_oid(partitions, i), NoLock);
		PfsSegmentTotals totals = { 0 };

		if (pfs_is_profstore_table(relation))
			totals = pfs_segment_totals(relation, snapshot);
		table_close(relation, NoLock);
		if (totals.segment_count > 0)
			return totals.time_max + tier->width_us;
	}
	return DT_NOBEGIN;
}

TimestampTz
pfs_tier_round_up(const TimestampTz *ends, TimestampTz time)
{
	for (int i = PFS_TIER_COUNT - 1; i >= 0; i--)
		if (time < ends[i])
			return pfs_bucket_round_up(time, pfs_bucket_offset(time, pfs_tiers[i].width_us),
									   pfs_tiers[i].width_us);
	return time;
}

void
pfs_tier_notice(const PfsTier *tier, TimestampTz end)
{
	static TimestampTz noticed[PFS_TIER_COUNT];
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (noticed[tier - pfs_tiers] == statement)
		return;
	noticed[tier - pfs_tiers] = statement;
	ereport(NOTICE,
			(errmsg("samples before %s are kept by the %s", timestamptz_to_str(end), tier->name),
			 errdetail("A bucket counts if it begins in the range.")));
}
