/*
 * directory.c
 *		Inserts, lists and deletes rows of profstore.segments.
 *
 * The rows are ordinary heap rows. They are written by heap_insert() rather than through the
 * executor, because they carry a command id of the caller's choice.
 *
 * 1. A writer inserts a row and its index entries, and removes rows by their address.
 * 2. A scan lists the rows of a storage that a snapshot sees, in order of segment_no. A row is
 *    valid until the next call.
 * 3. Two functions work without an MVCC snapshot: one lists all rows that any snapshot may still
 *    see, the other deletes all rows of a storage.
 */
#include "store/segment/directory.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "base/version.h"
#include "store/segment/storage.h"

/* Columns of profstore.segments, in the order of store.sql. */
enum
{
	COL_STORAGE_ID = 1,
	COL_SEGMENT_NO,
	COL_BYTE_COUNT,
	COL_TIME_MIN,
	COL_TIME_MAX,
	COL_KEY_MIN,
	COL_KEY_MAX,
	COL_ROW_COUNT,
	COL_LEVEL,
	COL_HEADER,
	COL_STREAM_IDS,
	COL_PAYLOAD,
	COL_SUMMARY_BYTE_COUNT,
	COL_SUMMARY,
	COL_COUNT = COL_SUMMARY
};

#define SEGMENT_NO_BITS 16

struct PfsDirectoryWriter
{
	Relation heap;
	EState *estate;
	ResultRelInfo *indexes; /* all indexes, including a user's and one that REINDEX is building */
	TupleTableSlot *slot;
};

struct PfsDirectoryScan
{
	Relation heap;
	Relation index;
	SysScanDesc scan; /* NULL: there is nothing to read */
	SnapshotData nonvacuumable;
};

static Relation
open_directory(LOCKMODE lock)
{
	Relation heap = pfs_table_open("segments", lock);
	int columns = RelationGetDescr(heap)->natts;

	if (columns != COL_COUNT)
	{
		/*
		 * a different number of columns means that another build's script created the table, so
		 * report that first
		 */
		pfs_extension_require_current();
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("table \"profstore.segments\" has %d columns, not %d", columns,
							   COL_COUNT)));
	}
	return heap;
}

bool
pfs_directory_try_lock(void)
{
	static const char *const tables[] = { "segments", "rollups", "row_ledger" };

	for (size_t i = 0; i < lengthof(tables); i++)
	{
		/*
		 * Locks already taken are kept until the transaction ends, which harms nobody: they exclude
		 * only rewrites.
		 */
		if (!ConditionalLockRelationOid(pfs_relation_oid(tables[i]), RowExclusiveLock))
			return false;
	}
	return true;
}

PfsDirectoryWriter *
pfs_directory_writer_open(void)
{
	PfsDirectoryWriter *writer = palloc(sizeof(PfsDirectoryWriter));

	writer->heap = open_directory(RowExclusiveLock);
	writer->estate = CreateExecutorState();
	writer->indexes = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->indexes, writer->heap, 0, NULL, 0);
	/* The executor's functions maintain all indexes, also those that an administrator has added. */
	ExecOpenIndices(writer->indexes, false);
	writer->slot = MakeSingleTupleTableSlot(RelationGetDescr(writer->heap), &TTSOpsHeapTuple);
	return writer;
}

void
pfs_directory_writer_close(PfsDirectoryWriter *writer)
{
	ExecDropSingleTupleTableSlot(writer->slot);
	ExecCloseIndices(writer->indexes);
	FreeExecutorState(writer->estate);
	table_close(writer->heap, NoLock);
	pfree(writer->indexes);
	pfree(writer);
}

/*
 * Returns a number that is unique without a sequence, which parallel mode forbids: the
 * (sub)transaction's id and a count. The count continues through subtransactions, because the
 * parent's id is current again after a child ends.
 */
static int64
next_segment_no(void)
{
	static TransactionId top_xid = InvalidTransactionId;
	static uint32 count = 0;
	/* A 64-bit id does not wrap, so the number never recurs in the life of the cluster. */
	uint64 xid = U64FromFullTransactionId(GetCurrentFullTransactionId());

	/* The first call in a new transaction starts the count again. */
	if (top_xid != GetTopTransactionId())
	{
		top_xid = GetTopTransactionId();
		count = 0;
	}
	/* One more would overlap the numbers of the next transaction id. */
	if (count >= 1 << SEGMENT_NO_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a transaction cannot write more than %d segments", 1 << SEGMENT_NO_BITS),
				 errhint("Insert many rows per statement, or commit more often.")));
	return (int64) (xid << SEGMENT_NO_BITS | count++);
}

static void
directory_set_range(Datum *values, bool *nulls, int column, const PfsRange *range)
{
	values[column - 1] = Int64GetDatum(range->min);
	values[column] = Int64GetDatum(range->max);
	nulls[column - 1] = nulls[column] = !range->known;
}

static Datum
oid_array(const Oid *ids, uint32 count)
{
	Datum *elements = palloc(sizeof(Datum) * count);

	for (uint32 i = 0; i < count; i++)
		elements[i] = ObjectIdGetDatum(ids[i]);
	return PointerGetDatum(
		construct_array(elements, (int) count, OIDOID, sizeof(Oid), true, TYPALIGN_INT));
}

static void
insert_row(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row,
		   CommandId command_id)
{
	Datum values[COL_COUNT] = { 0 };
	bool nulls[COL_COUNT] = { 0 };
	HeapTuple tuple;

	values[COL_STORAGE_ID - 1] = Int64GetDatum(storage_id);
	values[COL_SEGMENT_NO - 1] = Int64GetDatum(row->segment_no);
	values[COL_BYTE_COUNT - 1] = Int64GetDatum(row->byte_count);
	directory_set_range(values, nulls, COL_TIME_MIN, &row->time);
	directory_set_range(values, nulls, COL_KEY_MIN, &row->key);
	values[COL_ROW_COUNT - 1] = Int32GetDatum(row->row_count);
	values[COL_LEVEL - 1] = Int16GetDatum(row->level);
	values[COL_HEADER - 1] = PointerGetDatum(row->header);
	nulls[COL_STREAM_IDS - 1] = row->stream_ids == NULL;
	if (row->stream_ids != NULL)
		values[COL_STREAM_IDS - 1] = oid_array(row->stream_ids, row->stream_count);
	/* heap_form_tuple() ignores the value of a null column. */
	nulls[COL_PAYLOAD - 1] = row->payload == NULL;
	values[COL_PAYLOAD - 1] = PointerGetDatum(row->payload);
	values[COL_SUMMARY_BYTE_COUNT - 1] = Int64GetDatum(row->summary_byte_count);
	nulls[COL_SUMMARY - 1] = row->summary == NULL;
	values[COL_SUMMARY - 1] = PointerGetDatum(row->summary);

	tuple = heap_form_tuple(RelationGetDescr(writer->heap), values, nulls);
	/*
	 * The command id is that of the inserting command, which may be over: a cursor opened before it
	 * must not see the segment.
	 */
	heap_insert(writer->heap, tuple, command_id, 0, NULL);
	ExecStoreHeapTuple(tuple, writer->slot, false);
	pfs_insert_index_entries(writer->indexes, writer->slot, writer->estate);
	ResetPerTupleExprContext(writer->estate);
	ExecClearTuple(writer->slot);
	heap_freetuple(tuple);
}

void
pfs_directory_insert(PfsDirectoryWriter *writer, int64 storage_id, PfsSegmentRow *row,
					 CommandId command_id)
{
	row->segment_no = next_segment_no();
	insert_row(writer, storage_id, row, command_id);
}

/*
 * Returns true if the row at an address, which may be dead by now, is the one that was read there.
 */
static bool
directory_is_at(Relation heap, const ItemPointerData *address, int64 storage_id, int64 segment_no)
{
	HeapTupleData tuple = { .t_self = *address };
	Buffer buffer;
	bool is_null;
	bool is_it;

	/*
	 * SnapshotAny also finds a row that another transaction has deleted; heap_delete() then reports
	 * it.
	 */
	if (!pfs_heap_fetch(heap, SnapshotAny, &tuple, &buffer))
		return false;
	is_it = DatumGetInt64(heap_getattr(&tuple, COL_STORAGE_ID, RelationGetDescr(heap), &is_null)) ==
				storage_id &&
			DatumGetInt64(heap_getattr(&tuple, COL_SEGMENT_NO, RelationGetDescr(heap), &is_null)) ==
				segment_no;
	ReleaseBuffer(buffer);
	return is_it;
}

bool
pfs_directory_remove(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row)
{
	ItemPointerData tid = row->address;
	TM_FailureData failure;

	/*
	 * The caller's lock excludes VACUUM FULL and CLUSTER, so another row at this address means that
	 * the lock was not taken before the read.
	 */
	if (!directory_is_at(writer->heap, &tid, storage_id, row->segment_no))
		elog(ERROR, "segment " INT64_FORMAT " of storage " INT64_FORMAT " is not where it was read",
			 row->segment_no, storage_id);
	/*
	 * wait is false: if another transaction is deleting the row, this one gives up instead of
	 * waiting for it.
	 */
	return heap_delete(writer->heap, &tid, GetCurrentCommandId(true), InvalidSnapshot, false,
					   &failure, false) == TM_Ok;
}

bool
pfs_directory_replace(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row)
{
	if (!pfs_directory_remove(writer, storage_id, row))
		return false;
	insert_row(writer, storage_id, row, GetCurrentCommandId(true));
	return true;
}

/* Begins a scan. If snapshot is NULL, the scan returns all rows that are not certainly dead. */
static PfsDirectoryScan *
scan_begin(int64 storage_id, Snapshot snapshot)
{
	PfsDirectoryScan *scan = palloc0(sizeof(PfsDirectoryScan));
	ScanKeyData key;

	/*
	 * During pg_upgrade the directory has no rows yet, and its index is created only after the
	 * tables that are checked for emptiness.
	 */
	if (IsBinaryUpgrade)
		return scan;

	scan->heap = open_directory(AccessShareLock);
	if (snapshot == NULL)
	{
		/*
		 * computing the horizon advances it; otherwise it would not move as long as no transaction
		 * takes an id
		 */
		(void) GetOldestNonRemovableTransactionId(scan->heap);
		InitNonVacuumableSnapshot(scan->nonvacuumable, GlobalVisTestFor(scan->heap));
		snapshot = &scan->nonvacuumable;
	}
	/* The primary key is (storage_id, segment_no), so rows come in order of their numbers. */
	scan->index = index_open(pfs_primary_key_index(scan->heap), AccessShareLock);
	ScanKeyInit(&key, COL_STORAGE_ID, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(storage_id));
	scan->scan = systable_beginscan_ordered(scan->heap, scan->index, snapshot, 1, &key);
	return scan;
}

PfsDirectoryScan *
pfs_directory_scan_begin(int64 storage_id, Snapshot snapshot)
{
	Assert(snapshot != NULL);
	return scan_begin(storage_id, snapshot);
}

PfsDirectoryScan *
pfs_directory_scan_begin_nonvacuumable(int64 storage_id)
{
	return scan_begin(storage_id, NULL);
}

static PfsRange
get_range(const Datum *values, const bool *nulls, int column)
{
	PfsRange range = { !nulls[column - 1] && !nulls[column], 0, 0 };

	if (range.known)
	{
		range.min = DatumGetInt64(values[column - 1]);
		range.max = DatumGetInt64(values[column]);
	}
	return range;
}

/* Reads the columns of a row; its pointers point into the tuple. */
static void
directory_read_row(Relation heap, HeapTuple tuple, PfsSegmentRow *row)
{
	Datum values[COL_COUNT] = { 0 };
	/* The initial values matter only for a tuple with fewer columns than the table. */
	bool nulls[COL_COUNT] = { [COL_SUMMARY - 1] = true };

	heap_deform_tuple(tuple, RelationGetDescr(heap), values, nulls);
	row->address = tuple->t_self;
	row->segment_no = DatumGetInt64(values[COL_SEGMENT_NO - 1]);
	row->byte_count = DatumGetInt64(values[COL_BYTE_COUNT - 1]);
	row->time = get_range(values, nulls, COL_TIME_MIN);
	row->key = get_range(values, nulls, COL_KEY_MIN);
	row->row_count = DatumGetInt32(values[COL_ROW_COUNT - 1]);
	row->level = DatumGetInt16(values[COL_LEVEL - 1]);
	row->header = (bytea *) DatumGetPointer(values[COL_HEADER - 1]);
	row->stream_ids = NULL;
	row->stream_count = 0;
	if (!nulls[COL_STREAM_IDS - 1])
	{
		ArrayType *array = DatumGetArrayTypeP(values[COL_STREAM_IDS - 1]);

		row->stream_ids = (const Oid *) ARR_DATA_PTR(array);
		row->stream_count = (uint32) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	}
	row->payload =
		nulls[COL_PAYLOAD - 1] ? NULL : (struct varlena *) DatumGetPointer(values[COL_PAYLOAD - 1]);
	row->summary_byte_count = DatumGetInt64(values[COL_SUMMARY_BYTE_COUNT - 1]);
	row->summary =
		nulls[COL_SUMMARY - 1] ? NULL : (bytea *) DatumGetPointer(values[COL_SUMMARY - 1]);
}

bool
pfs_directory_scan_next(PfsDirectoryScan *scan, PfsSegmentRow *row)
{
	HeapTuple tuple;

	/* scan_begin() opens nothing during pg_upgrade. */
	if (scan->scan == NULL)
		return false;
	tuple = systable_getnext_ordered(scan->scan, ForwardScanDirection);
	if (!HeapTupleIsValid(tuple))
		return false;
	directory_read_row(scan->heap, tuple, row);
	return true;
}

void
pfs_directory_scan_end(PfsDirectoryScan *scan)
{
	if (scan->scan != NULL)
	{
		systable_endscan_ordered(scan->scan);
		index_close(scan->index, AccessShareLock);
		table_close(scan->heap, AccessShareLock);
	}
	pfree(scan);
}

static void *
copy_bytes(const void *bytes, Size size)
{
	return bytes == NULL ? NULL : memcpy(palloc(size), bytes, size);
}

void
pfs_segment_row_copy(PfsSegmentRow *copy, const PfsSegmentRow *row)
{
	*copy = *row;
	/*
	 * Header and sums are needed whole, so they are detoasted here; of the payload only the pointer
	 * is copied.
	 */
	copy->header = DatumGetByteaPCopy(PointerGetDatum(row->header));
	if (row->summary != NULL)
		copy->summary = DatumGetByteaPCopy(PointerGetDatum(row->summary));
	copy->stream_ids = copy_bytes(row->stream_ids, sizeof(Oid) * row->stream_count);
	copy->payload = copy_bytes(row->payload, row->payload == NULL ? 0 : VARSIZE_ANY(row->payload));
}

bool
pfs_directory_fetch(PfsDirectoryWriter *writer, Snapshot snapshot, const ItemPointerData *address,
					PfsSegmentRow *row)
{
	HeapTupleData tuple = { .t_self = *address };
	PfsSegmentRow in_buffer;
	Buffer buffer;

	if (!pfs_heap_fetch(writer->heap, snapshot, &tuple, &buffer))
		return false;
	/* The row points into the buffer page, so it is copied before the buffer is released. */
	directory_read_row(writer->heap, &tuple, &in_buffer);
	pfs_segment_row_copy(row, &in_buffer);
	ReleaseBuffer(buffer);
	return true;
}

/*
 * SnapshotSelf also sees rows that the current command has written. No other transaction can be
 * writing any, because the caller holds AccessExclusiveLock.
 */
void
pfs_directory_delete(int64 storage_id)
{
	Oid directory_id = pfs_relation_find("segments");
	Relation heap;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	/* DROP EXTENSION … CASCADE may drop the directory before the tables. */
	if (!OidIsValid(directory_id))
		return;

	heap = table_open(directory_id, RowExclusiveLock);
	ScanKeyInit(&key, COL_STORAGE_ID, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(storage_id));
	scan = systable_beginscan(heap, pfs_primary_key_index(heap), true, SnapshotSelf, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		simple_heap_delete(heap, &tuple->t_self);
	systable_endscan(scan);
	table_close(heap, NoLock);
}

PfsDirectoryTotals
pfs_directory_totals(int64 storage_id, Snapshot snapshot)
{
	PfsDirectoryTotals totals = { 0, 0, 0 };
	PfsDirectoryScan *scan = pfs_directory_scan_begin(storage_id, snapshot);
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		totals.segment_count++;
		totals.row_count += row.row_count;
		totals.byte_count += (double) (row.byte_count + row.summary_byte_count);
	}
	pfs_directory_scan_end(scan);
	return totals;
}
