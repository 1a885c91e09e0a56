/*
 * range_partitions.c
 *		Compares the bounds of partitions with a range, and finds how far tiers reach.
 */
#include "select/range_partitions.h"

#include "access/table.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "select/shard_rows.h"

/*
 * Returns true if the partition between two bounds of the time column can hold rows of the range.
 */
static bool
bounds_meet_range(PartitionBoundInfo bounds, int lower, TimestampTz from, TimestampTz to)
{
	int upper = lower + 1;

	if (lower >= 0)
	{
		PartitionRangeDatumKind kind = bounds->kind[lower][0];

		if (kind == PARTITION_RANGE_DATUM_MAXVALUE ||
			(kind == PARTITION_RANGE_DATUM_VALUE && DatumGetInt64(bounds->datums[lower][0]) >= to))
			return false;
	}
	if (upper < bounds->ndatums)
	{
		PartitionRangeDatumKind kind = bounds->kind[upper][0];

		if (kind == PARTITION_RANGE_DATUM_MINVALUE ||
			(kind == PARTITION_RANGE_DATUM_VALUE &&
			 DatumGetInt64(bounds->datums[upper][0]) <= from))
			return false;
	}
	return true;
}

static bool
is_partitioned_by_time(Relation relation)
{
	PartitionKey key = RelationGetPartitionKey(relation);

	return key->strategy == PARTITION_STRATEGY_RANGE && key->partnatts == 1 &&
		   key->partattrs[0] == get_attnum(RelationGetRelid(relation), "time");
}

List *
pfs_partitions_collect(List *leaves, Oid relid, TimestampTz from, TimestampTz to)
{
	Relation relation = table_open(relid, AccessShareLock);
	PartitionDesc partitions;

	if (relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		leaves = lappend_oid(leaves, relid);
		table_close(relation, NoLock);
		return leaves;
	}
	partitions = RelationGetPartitionDesc(relation, true);
	if (partitions->nparts > 0 && is_partitioned_by_time(relation))
	{
		PartitionBoundInfo bounds = partitions->boundinfo;

		/* indexes[i] is the partition that ends at bound i; the last one has no upper bound */
		for (int i = 0; i <= bounds->ndatums; i++)
		{
			int part = bounds->indexes[i];

			if (part >= 0 && bounds_meet_range(bounds, i - 1, from, to))
				leaves = pfs_partitions_collect(leaves, partitions->oids[part], from, to);
		}
		if (partition_bound_has_default(bounds))
			leaves =
				pfs_partitions_collect(leaves, partitions->oids[bounds->default_index], from, to);
	}
	else
	{
		for (int i = 0; i < partitions->nparts; i++)
			leaves = pfs_partitions_collect(leaves, partitions->oids[i], from, to);
	}
	table_close(relation, NoLock);
	return leaves;
}

List *
pfs_tier_partitions(const PfsTier *tier, const PfsSelection *selection)
{
	Oid relid = pfs_relation_find(tier->table);
	List *partitions;

	/* tiers have no traces */
	if (!OidIsValid(relid) || pfs_selection_is_traced(selection))
		return NIL;
	partitions = pfs_partitions_collect(NIL, relid, selection->from, selection->to);
	if (partitions != NIL)
	{
		pfs_require_rows_of_series(relid);
		if (!pfs_samples_are_spread())
			pfs_require_local(relid, "read sums of");
	}
	return partitions;
}

void
pfs_find_tier_ends(const PfsSelection *selection, TimestampTz *ends)
{
	List *partitions[PFS_TIER_COUNT];
	bool has_tiers = false;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
	{
		partitions[i] =
			pfs_selection_is_empty(selection) ? NIL : pfs_tier_partitions(&pfs_tiers[i], selection);
		has_tiers = has_tiers || partitions[i] != NIL;
		ends[i] = DT_NOBEGIN;
	}
	if (has_tiers && pfs_samples_are_spread())
		pfs_shard_tier_ends(selection, ends);
	else
		for (int i = 0; i < PFS_TIER_COUNT; i++)
			ends[i] = pfs_tier_end(&pfs_tiers[i], partitions[i], GetActiveSnapshot());
}

int64
pfs_sample_resolution(const PfsSelection *selection)
{
	TimestampTz ends[PFS_TIER_COUNT];

	pfs_find_tier_ends(selection, ends);
	for (int i = PFS_TIER_COUNT - 1; i >= 0; i--)
		if (ends[i] > selection->from)
			return pfs_tiers[i].width_us;
	return 0;
}

int64
pfs_sample_covered_us(const PfsSelection *selection)
{
	TimestampTz ends[PFS_TIER_COUNT];
	int64 covered_us;

	pfs_find_tier_ends(selection, ends);
	covered_us = pfs_tier_round_up(ends, selection->to) - pfs_tier_round_up(ends, selection->from);
	/*
	 * if no bucket starts in the range, there are no rows; use the range's own length, so that no
	 * rate is divided by 0
	 */
	return covered_us > 0 ? covered_us : selection->to - selection->from;
}
