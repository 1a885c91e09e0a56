/*
 * rows.c
 *		Reads rows of a dictionary table by their int4 ids.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/rows.h"

/* An index probe costs about as much as reading a quarter of a block sequentially [measured]. */
#define PROBES_PER_BLOCK 4

static int
ids_compare(const void *a, const void *b)
{
	int32 left = *(const int32 *) a;
	int32 right = *(const int32 *) b;

	return (left > right) - (left < right);
}

uint32
pfs_ids_sort(int32 *ids, uint32 count)
{
	qsort(ids, count, sizeof(int32), ids_compare);
	/* qunique() needs sorted ids. */
	return (uint32) qunique(ids, count, sizeof(int32), ids_compare);
}

bool
pfs_ids_have(const int32 *ids, uint32 count, int32 id)
{
	return bsearch(&id, ids, count, sizeof(int32), ids_compare) != NULL;
}

/* Arguments and state of pfs_rows_read(). */
typedef struct Reading
{
	const char *table;
	const int32 *ids;
	uint32 count;
	PfsRowFn function;
	void *argument;
	Relation relation;
	TupleTableSlot *slot;
	MemoryContext row_context;
} Reading;

/* Calls the function for the current row in a context that is reset afterwards. */
static void
give_row(const Reading *reading)
{
	MemoryContext caller = MemoryContextSwitchTo(reading->row_context);

	slot_getallattrs(reading->slot);
	reading->function(reading->slot, reading->argument);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reading->row_context);
}

/* Reads the wanted rows by the primary key, one search for each id. */
static void
probe_index(const Reading *reading)
{
	Relation index =
		index_open(pfs_relation_oid(psprintf("%s_pkey", reading->table)), AccessShareLock);
	IndexScanDesc scan = pfs_index_beginscan(reading->relation, index, GetActiveSnapshot(), 1);

	for (uint32 i = 0; i < reading->count; i++)
	{
		ScanKeyData key;

		CHECK_FOR_INTERRUPTS();
		ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(reading->ids[i]));
		index_rescan(scan, &key, 1, NULL, 0);
		if (index_getnext_slot(scan, ForwardScanDirection, reading->slot))
			give_row(reading);
	}
	index_endscan(scan);
	index_close(index, AccessShareLock);
}

static void
pass_over_table(const Reading *reading)
{
	TableScanDesc scan = table_beginscan(reading->relation, GetActiveSnapshot(), 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, reading->slot))
	{
		bool is_null;
		int32 id = DatumGetInt32(slot_getattr(reading->slot, 1, &is_null));

		CHECK_FOR_INTERRUPTS();
		if (pfs_ids_have(reading->ids, reading->count, id))
			give_row(reading);
	}
	table_endscan(scan);
}

void
pfs_rows_read(const char *table, const int32 *ids, uint32 count, PfsRowFn function, void *argument)
{
	Reading reading = { table, ids, count, function, argument, NULL, NULL, NULL };

	if (count == 0)
		return;
	reading.relation = pfs_table_open(table, AccessShareLock);
	reading.slot = table_slot_create(reading.relation, NULL);
	reading.row_context = AllocSetContextCreate(CurrentMemoryContext, "profstore dictionary row",
												ALLOCSET_SMALL_SIZES);
	/* So many probes would cost more than reading the table once. */
	if (count / PROBES_PER_BLOCK > RelationGetNumberOfBlocks(reading.relation))
		pass_over_table(&reading);
	else
		probe_index(&reading);
	MemoryContextDelete(reading.row_context);
	ExecDropSingleTupleTableSlot(reading.slot);
	table_close(reading.relation, NoLock);
}
