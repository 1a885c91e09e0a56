/*
 * agg_sums.c
 *		Finds the table of sums that suffices for an aggregation.
 */
#include "tableam/nodes/agg_sums.h"

#include "store/segment/row_order.h"

/* Returns true if the column is a key of the table of sums. */
static bool
is_key_of_sums(const PfsRowKey *key, PfsSegmentPart sums, AttrNumber attnum)
{
	return attnum == key->series || attnum == (sums == PFS_PART_PAIRS ? key->stack : key->time);
}

/* Returns true if an aggregate over rows can be computed from the table of sums. */
static bool
is_known_by_sums(const PfsRowKey *key, PfsSegmentPart sums, const PfsAggSpec *spec)
{
	bool is_key = is_key_of_sums(key, sums, spec->attnum);
	ListCell *cell;

	foreach(cell, spec->filter)
		if (!is_key_of_sums(key, sums, ((const PfsPushedQual *) lfirst(cell))->attnum))
			return false;
	switch (spec->kind)
	{
		case PFS_AGG_COUNT_ROWS:
		case PFS_AGG_COUNT:
			return true;
		case PFS_AGG_SUM:
		case PFS_AGG_AVG:
			return !is_key;
		case PFS_AGG_MIN:
		case PFS_AGG_MAX:
			break;
	}
	return is_key;
}

static bool
is_sum_of(const PfsAggregation *aggregation, const PfsRowKey *key, PfsSegmentPart sums)
{
	ListCell *cell;

	if (key->series == InvalidAttrNumber || key->stack == InvalidAttrNumber ||
		key->time == InvalidAttrNumber)
		return false;
	foreach(cell, aggregation->key_columns)
		if (!is_key_of_sums(key, sums, (AttrNumber) lfirst_int(cell)))
			return false;
	foreach(cell, aggregation->aggregates)
		if (!is_known_by_sums(key, sums, lfirst(cell)))
			return false;
	return true;
}

PfsSegmentPart
pfs_agg_sums(const PfsAggregation *aggregation, Relation relation)
{
	PfsRowKey key = pfs_row_key(relation);

	if (is_sum_of(aggregation, &key, PFS_PART_PAIRS))
		return PFS_PART_PAIRS;
	if (is_sum_of(aggregation, &key, PFS_PART_SCRAPES))
		return PFS_PART_SCRAPES;
	return PFS_PART_ROWS;
}
