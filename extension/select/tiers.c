/*
 * tiers.c
 *		Lists the tiers, and finds the end of the last bucket of each.
 */
#include "select/tiers.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "select/buckets.h"
#include "store/compact/segment_retention.h"
#include "tableam/table_am.h"

const PfsTier pfs_tiers[PFS_TIER_COUNT] = {
	{ "minute", "samples_minute", USECS_PER_MINUTE },
	{ "hour", "samples_hour", USECS_PER_HOUR },
};

/*
 * Returns the latest time of a partition's rows; DT_NOBEGIN if there are none. A user may have
 * converted a partition into a heap, which is then read as a whole. A foreign table is rejected
 * later, by the scan.
 */
static TimestampTz
find_latest(Relation relation, Snapshot snapshot)
{
	TimestampTz latest = DT_NOBEGIN;
	AttrNumber time = get_attnum(RelationGetRelid(relation), "time");
	TupleTableSlot *slot;
	TableScanDesc scan;

	if (pfs_is_profstore_table(relation))
	{
		PfsSegmentTotals totals = pfs_segment_totals(relation, snapshot);

		return totals.segment_count > 0 ? totals.time_max : DT_NOBEGIN;
	}
	if (relation->rd_rel->relkind != RELKIND_RELATION)
		return DT_NOBEGIN;
	slot = table_slot_create(relation, NULL);
	scan = table_beginscan(relation, snapshot, 0, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool is_null;
		Datum value = slot_getattr(slot, time, &is_null);

		CHECK_FOR_INTERRUPTS();
		if (!is_null)
			latest = Max(latest, DatumGetTimestampTz(value));
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return latest;
}

TimestampTz
pfs_tier_end(const PfsTier *tier, const List *partitions, Snapshot snapshot)
{
	for (int i = list_length(partitions) - 1; i >= 0; i--)
	{
		Relation relation = table_open(list_nth_oid(partitions, i), NoLock);
		TimestampTz latest = find_latest(relation, snapshot);

		table_close(relation, NoLock);
		if (!TIMESTAMP_NOT_FINITE(latest))
			return latest + tier->width_us;
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
			 errdetail("A bucket of a tier is included if it begins in the range.")));
}
