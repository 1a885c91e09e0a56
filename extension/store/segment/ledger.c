/*
 * ledger.c
 *		Adds, sums and deletes entries of profstore.row_ledger.
 *
 * Every COPY appends to the ledger, so it has no index. It is read whole, and folding keeps it
 * short enough for that.
 */
#include "store/segment/ledger.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "store/segment/storage.h"

enum
{
	COL_STORAGE_ID = 1,
	COL_ROWS,
	COL_COUNT = COL_ROWS
};

/* A table's entries are folded once there are more than this many. */
#define FOLD_ENTRIES 16

static Relation
open_ledger(LOCKMODE lock)
{
	return pfs_table_open("row_ledger", lock);
}

static SysScanDesc
ledger_begin_scan(Relation ledger, int64 storage_id, Snapshot snapshot)
{
	ScanKeyData key;

	ScanKeyInit(&key, COL_STORAGE_ID, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(storage_id));
	return systable_beginscan(ledger, InvalidOid, false, snapshot, 1, &key);
}

static void
ledger_append(Relation ledger, int64 storage_id, int64 row_count, CommandId command_id)
{
	Datum values[COL_COUNT] = { Int64GetDatum(storage_id), Int64GetDatum(row_count) };
	bool nulls[COL_COUNT] = { false };
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(ledger), values, nulls);

	/*
	 * The command id is that of the segment's directory row, so each snapshot sees both or neither.
	 */
	heap_insert(ledger, tuple, command_id, 0, NULL);
	heap_freetuple(tuple);
}

void
pfs_ledger_add(int64 storage_id, int64 row_count, CommandId command_id)
{
	Relation ledger;

	if (row_count == 0)
		return;
	ledger = open_ledger(RowExclusiveLock);
	ledger_append(ledger, storage_id, row_count, command_id);
	table_close(ledger, NoLock);
}

/* Sums the entries that the snapshot sees; if is_deleted, deletes them. */
static int64
ledger_add_up(Relation ledger, int64 storage_id, Snapshot snapshot, bool is_deleted,
			  uint32 *entry_count)
{
	SysScanDesc scan = ledger_begin_scan(ledger, storage_id, snapshot);
	int64 total = 0;
	HeapTuple tuple;

	*entry_count = 0;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool is_null;

		CHECK_FOR_INTERRUPTS();
		total += DatumGetInt64(heap_getattr(tuple, COL_ROWS, RelationGetDescr(ledger), &is_null));
		++*entry_count;
		if (is_deleted)
			simple_heap_delete(ledger, &tuple->t_self);
	}
	systable_endscan(scan);
	return total;
}

void
pfs_ledger_fold(int64 storage_id, Snapshot snapshot)
{
	Relation ledger = open_ledger(RowExclusiveLock);
	uint32 entry_count;

	(void) ledger_add_up(ledger, storage_id, snapshot, false, &entry_count);
	/*
	 * Count first: deleting and appending a few entries at each merge would leave more dead rows
	 * than it saves.
	 */
	if (entry_count > FOLD_ENTRIES)
	{
		int64 total = ledger_add_up(ledger, storage_id, snapshot, true, &entry_count);

		ledger_append(ledger, storage_id, total, GetCurrentCommandId(true));
	}
	table_close(ledger, NoLock);
}

int64
pfs_ledger_total(int64 storage_id, Snapshot snapshot)
{
	Relation ledger = open_ledger(AccessShareLock);
	uint32 entry_count;
	int64 total = ledger_add_up(ledger, storage_id, snapshot, false, &entry_count);

	table_close(ledger, AccessShareLock);
	return total;
}

/*
 * SnapshotSelf also sees entries that the current command has written. No other transaction can be
 * writing any, because the caller holds AccessExclusiveLock.
 */
void
pfs_ledger_delete(int64 storage_id)
{
	Oid relation_id = pfs_relation_find("row_ledger");
	Relation ledger;
	uint32 entry_count;

	if (!OidIsValid(relation_id))
		return;
	ledger = table_open(relation_id, RowExclusiveLock);
	(void) ledger_add_up(ledger, storage_id, SnapshotSelf, true, &entry_count);
	table_close(ledger, NoLock);
}
