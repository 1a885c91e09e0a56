/*
 * rows.c
 *		Rows of a dictionary table by their int4 ids.
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
#include "dictionary/cache.h"
#include "dictionary/rows.h"

/* An index probe costs about as much as reading a quarter of a block in sequence [measured]. */
#define PROBES_PER_BLOCK 4

static int
compare_ids(const void *a, const void *b)
{
	int32 left = *(const int32 *) a;
	int32 right = *(const int32 *) b;

	return (left > right) - (left < right);
}

uint32
pfs_ids_sort(int32 *ids, uint32 count)
{
	qsort(ids, count, sizeof(int32), compare_ids);
	return (uint32) qunique(ids, count, sizeof(int32), compare_ids);
}

bool
pfs_ids_have(const int32 *ids, uint32 count, int32 id)
{
	return bsearch(&id, ids, count, sizeof(int32), compare_ids) != NULL;
}

/* Calls function in a context of its own, which is emptied for the next row. */
static void
give_row(TupleTableSlot *slot, MemoryContext row_context, PfsRowFn function, void *argument)
{
	MemoryContext caller = MemoryContextSwitchTo(row_context);

	slot_getallattrs(slot);
	function(slot, argument);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(row_context);
}

static void
probe_index(Relation relation, const char *index_name, const int32 *ids, uint32 count,
			TupleTableSlot *slot, MemoryContext row_context, PfsRowFn function, void *argument)
{
	Relation index = index_open(pfs_relation_oid(index_name), AccessShareLock);
	IndexScanDesc scan = pfs_index_beginscan(relation, index, GetActiveSnapshot(), 1);

	for (uint32 i = 0; i < count; i++)
	{
		ScanKeyData key;

		CHECK_FOR_INTERRUPTS();
		ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(ids[i]));
		index_rescan(scan, &key, 1, NULL, 0);
		if (index_getnext_slot(scan, ForwardScanDirection, slot))
			give_row(slot, row_context, function, argument);
	}
	index_endscan(scan);
	index_close(index, AccessShareLock);
}

static void
pass_over_table(Relation relation, const int32 *ids, uint32 count, TupleTableSlot *slot,
				MemoryContext row_context, PfsRowFn function, void *argument)
{
	TableScanDesc scan = table_beginscan(relation, GetActiveSnapshot(), 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool is_null;
		int32 id = DatumGetInt32(slot_getattr(slot, 1, &is_null));

		CHECK_FOR_INTERRUPTS();
		if (pfs_ids_have(ids, count, id))
			give_row(slot, row_context, function, argument);
	}
	table_endscan(scan);
}

void
pfs_rows_read(const char *table, const int32 *ids, uint32 count, PfsRowFn function, void *argument)
{
	Relation relation;
	TupleTableSlot *slot;
	MemoryContext row_context;

	if (count == 0)
		return;
	relation = pfs_table_open(table, AccessShareLock);
	slot = table_slot_create(relation, NULL);
	row_context = AllocSetContextCreate(CurrentMemoryContext, "profstore dictionary row",
										ALLOCSET_SMALL_SIZES);
	if (count / PROBES_PER_BLOCK > RelationGetNumberOfBlocks(relation))
		pass_over_table(relation, ids, count, slot, row_context, function, argument);
	else
		probe_index(relation, psprintf("%s_pkey", table), ids, count, slot, row_context, function,
					argument);
	MemoryContextDelete(row_context);
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, NoLock);
}
