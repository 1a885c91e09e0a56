/*
 * series_classes.c
 *		Classes of series that a roll-up sums: each delta profile type is a class. In a table that
 *		is not one of the extension's, all series are one class.
 *
 * Reads the tables without row security, because compaction shows no row to its caller.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "nodes/pg_list.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/intern/series_classes.h"
#include "store/scan/rollup.h"
#include "store/segment/storage.h"

/*
 * The class of all series in a table that is not one of the extension's partitions. The extension
 * does not know what its series mean, and the views sum them all. No profile type has this id.
 */
#define CLASS_OF_OTHERS 0

/* Calls a function for each row that the active snapshot sees, with the values of two columns. */
static void
classes_each_row(const char *table, const char *first, const char *second,
				 void (*visit)(void *arg, Datum first, Datum second), void *arg)
{
	Oid relation_id = pfs_relation_oid(table);
	Relation relation = table_open(relation_id, AccessShareLock);
	AttrNumber attnums[2] = { get_attnum(relation_id, first), get_attnum(relation_id, second) };
	SysScanDesc scan =
		systable_beginscan(relation, InvalidOid, false, GetActiveSnapshot(), 0, NULL);
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Datum values[2];
		bool nulls[2];

		for (int i = 0; i < 2; i++)
			values[i] = heap_getattr(tuple, attnums[i], RelationGetDescr(relation), &nulls[i]);
		if (!nulls[0] && !nulls[1])
			visit(arg, values[0], values[1]);
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
}

typedef struct Classes
{
	PfsNumbers series;
	int32 *classes;
	List *delta_types;
} Classes;

static void
visit_type(void *arg, Datum id, Datum delta)
{
	Classes *classes = arg;

	if (DatumGetBool(delta))
		classes->delta_types = lappend_int(classes->delta_types, DatumGetInt32(id));
}

static void
visit_series(void *arg, Datum id, Datum profile_type)
{
	Classes *classes = arg;
	int64 position = pfs_numbers_find(classes->series, DatumGetInt32(id));

	/* Series of instant types keep class -1: their averages cannot be added up. */
	if (position >= 0 && list_member_int(classes->delta_types, DatumGetInt32(profile_type)))
		classes->classes[position] = DatumGetInt32(profile_type);
}

/*
 * Returns true if column series_id of the table refers to profstore.series: in partitions of
 * samples and its tiers.
 */
static bool
has_our_series(Relation relation)
{
	static const char *const parents[] = { "samples", "samples_minute", "samples_hour" };
	List *ancestors;

	if (!relation->rd_rel->relispartition)
		return false;
	ancestors = get_partition_ancestors(RelationGetRelid(relation));
	for (size_t i = 0; i < lengthof(parents); i++)
		if (list_member_oid(ancestors, pfs_relation_find(parents[i])))
			return true;
	return false;
}

static void
series_classify(Relation relation, const int64 *series, uint32 count, int32 *classes)
{
	Classes found = { { count, series }, classes, NIL };

	if (!has_our_series(relation))
	{
		for (uint32 i = 0; i < count; i++)
			classes[i] = CLASS_OF_OTHERS;
		return;
	}
	/* A series without a row in profstore.series is not rolled up. */
	memset(classes, -1, sizeof(int32) * count);
	classes_each_row("profile_types", "id", "delta", visit_type, &found);
	classes_each_row("series", "id", "profile_type", visit_series, &found);
}

void
pfs_series_classes_init(void)
{
	pfs_classify_series = series_classify;
}
