/*
 * verify_directory.c
 *		Checks that the directory lists each segment of a table exactly once. It compares the
 *		directory with the ledger and with the values in the table's TOAST relation.
 */
#include "store/compact/verify_table.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "store/segment/directory.h"
#include "store/segment/ledger.h"
#include "store/segment/storage.h"

/* Columns of a TOAST relation. */
#define TOAST_VALUE_ID 1
#define TOAST_CHUNK	   2

/* A stream in the table's TOAST relation. */
typedef struct NamedValue
{
	Oid id;
	int64 segment_no;
} NamedValue;

typedef struct NamedValues
{
	uint32 count;
	uint32 capacity;
	NamedValue *values;
	int64 row_count; /* row count of all segments */
} NamedValues;

static int
row_ids_compare(const void *a, const void *b)
{
	Oid left = ((const NamedValue *) a)->id;
	Oid right = ((const NamedValue *) b)->id;

	return (left > right) - (left < right);
}

static int
chunk_values_compare(const void *a, const void *b)
{
	int64 left = ((const NamedValue *) a)->segment_no;
	int64 right = ((const NamedValue *) b)->segment_no;
	int order = row_ids_compare(a, b);

	return order != 0 ? order : (left > right) - (left < right);
}

static void
chunk_values_add(NamedValues *named, Oid id, int64 segment_no)
{
	/* An empty stream has no value. */
	if (!OidIsValid(id))
		return;
	PFS_RESERVE(named->values, named->capacity, named->count + 1);
	named->values[named->count++] = (NamedValue){ id, segment_no };
}

/* Lists the streams that segments name, by value id. */
static NamedValues
list_values(Relation relation, Snapshot snapshot)
{
	NamedValues named = { 0 };
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		named.row_count += row.row_count;
		for (uint32 i = 0; i < row.stream_count; i++)
			chunk_values_add(&named, row.stream_ids[i], row.segment_no);
	}
	pfs_directory_scan_end(scan);
	qsort(named.values, named.count, sizeof(NamedValue), chunk_values_compare);
	return named;
}

/* Reports values that two segments name, because such segments hold the same rows. */
static void
find_shared(const NamedValues *named, PfsReportProblem report, void *arg)
{
	for (uint32 i = 1; i < named->count; i++)
		/* Values are sorted by id, so equal ones are neighbours. */
		if (named->values[i].id == named->values[i - 1].id)
			report(arg, named->values[i].segment_no, -1,
				   psprintf("TOAST value %u is a stream of segment %lld, too", named->values[i].id,
							(long long) named->values[i - 1].segment_no));
}

/*
 * Reports TOAST values that no row of the directory names, because then a segment is missing from
 * the directory. A value is written and deleted in the transaction of its segment, so the snapshot
 * sees both or neither.
 */
static void
find_orphans(Relation relation, Snapshot snapshot, const NamedValues *named,
			 PfsReportProblem report, void *arg)
{
	Relation toast;
	SysScanDesc scan;
	HeapTuple tuple;

	if (!OidIsValid(relation->rd_rel->reltoastrelid))
		return;
	toast = table_open(relation->rd_rel->reltoastrelid, AccessShareLock);
	scan = systable_beginscan(toast, InvalidOid, false, snapshot, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		TupleDesc desc = RelationGetDescr(toast);
		NamedValue key = { 0 };
		bool is_null;

		CHECK_FOR_INTERRUPTS();
		/* Each value is counted by its first chunk. */
		if (DatumGetInt32(heap_getattr(tuple, TOAST_CHUNK, desc, &is_null)) != 0)
			continue;
		key.id = DatumGetObjectId(heap_getattr(tuple, TOAST_VALUE_ID, desc, &is_null));
		if (bsearch(&key, named->values, named->count, sizeof(NamedValue), row_ids_compare) == NULL)
			report(arg, 0, -1,
				   psprintf("TOAST value %u is a stream of a segment that is missing", key.id));
	}
	systable_endscan(scan);
	table_close(toast, AccessShareLock);
}

void
pfs_verify_directory(Relation relation, Snapshot snapshot, PfsReportProblem report, void *arg)
{
	NamedValues named = list_values(relation, snapshot);
	int64 stored = pfs_ledger_total(pfs_storage_id(relation), snapshot);

	if (stored != named.row_count)
		report(arg, 0, -1,
			   psprintf("the segments have %lld rows, but %lld were stored: %s",
						(long long) named.row_count, (long long) stored,
						named.row_count < stored ? "segments are missing"
												 : "rows are counted more than once"));
	find_shared(&named, report, arg);
	find_orphans(relation, snapshot, &named, report, arg);
}
