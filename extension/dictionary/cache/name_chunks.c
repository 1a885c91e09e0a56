/*
 * name_chunks.c
 *		Rows of function_chunks and location_chunks.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/cache/name_chunks.h"
#include "store/segment/codec_server.h"

pg_noreturn static void
chunk_raise_damaged(const PfsNameTable *names, int32 number, PfsStatus status, const char *detail)
{
	ereport(
		ERROR,
		(errcode(status == PFS_UNSUPPORTED ? ERRCODE_FEATURE_NOT_SUPPORTED
										   : ERRCODE_DATA_CORRUPTED),
		 errmsg("chunk %d of \"profstore.%s\" cannot be read: %s", number, names->chunks, detail),
		 status == PFS_UNSUPPORTED
			 ? errhint("Install a newer release of profstore.")
			 : errhint(
				   "Restore the row from a backup. If there is none, keep a copy of it elsewhere before you delete it: its names are lost then.")));
}

void
pfs_name_chunk_make(const PfsNameTable *names, int32 number, Datum present, Datum payload,
					PfsNameChunk *chunk)
{
	const struct varlena *bitmap = PG_DETOAST_DATUM_PACKED(present);

	chunk->number = number;
	chunk->payload = payload;
	if (number < 0 || number > PG_INT32_MAX / PFS_NAME_CHUNK_ROWS ||
		VARSIZE_ANY_EXHDR(bitmap) != PFS_NAME_BITMAP_BYTES)
		chunk_raise_damaged(names, number, PFS_CORRUPT, "its number or bitmap is invalid");
	/* The bitmap decides how many rows the payload must have. */
	memcpy(chunk->present, VARDATA_ANY(bitmap), PFS_NAME_BITMAP_BYTES);
	chunk->count = (uint32) pg_popcount((const char *) chunk->present, PFS_NAME_BITMAP_BYTES);
	if (chunk->count == 0)
		chunk_raise_damaged(names, number, PFS_CORRUPT, "it has no ids");
}

void
pfs_name_chunk_read(const PfsNameTable *names, HeapTuple tuple, TupleDesc descriptor,
					PfsNameChunk *chunk)
{
	Datum values[PFS_NAME_CHUNK_COLUMNS];
	bool nulls[PFS_NAME_CHUNK_COLUMNS];

	heap_deform_tuple(tuple, descriptor, values, nulls);
	pfs_name_chunk_make(names, DatumGetInt32(values[PFS_NAME_CHUNK_NUMBER - 1]),
						values[PFS_NAME_CHUNK_PRESENT - 1], values[PFS_NAME_CHUNK_PAYLOAD - 1],
						chunk);
}

/* Unpacks the payload into rows, and sets their ids. */
static PfsStatus
chunk_unpack(const PfsNameTable *names, const PfsNameChunk *chunk, PfsNameRow *rows,
			 PfsError *error)
{
	const struct varlena *payload = PG_DETOAST_DATUM_PACKED(chunk->payload);
	PfsStatus status =
		names->unpack((const uint8 *) VARDATA_ANY(payload), VARSIZE_ANY_EXHDR(payload),
					  chunk->count, pfs_palloc_allocator(CurrentMemoryContext), rows, error);
	uint32 row = 0;

	for (int32 i = 0; status == PFS_OK && i < PFS_NAME_CHUNK_ROWS; i++)
		/*
		 * Rows are packed in the order of their ids, so the n-th bit that is set is the n-th row.
		 */
		if (pfs_name_chunk_has(chunk, i))
		{
			/* A condemned row is unsealed first. */
			rows[row].is_condemned = false;
			rows[row++].id = chunk->number * PFS_NAME_CHUNK_ROWS + i;
		}
	return status;
}

void
pfs_name_chunk_unpack(const PfsNameTable *names, const PfsNameChunk *chunk, PfsNameRow *rows)
{
	PfsError error = { 0 };
	PfsStatus status = chunk_unpack(names, chunk, rows, &error);

	if (status != PFS_OK)
		chunk_raise_damaged(names, chunk->number, status, error.message);
}

const char *
pfs_name_chunk_check(const PfsNameTable *names, const PfsNameChunk *chunk, PfsNameRow *rows)
{
	PfsError error = { 0 };

	return chunk_unpack(names, chunk, rows, &error) == PFS_OK ? NULL : error.message;
}

static bytea *
make_bytea(const void *bytes, Size length)
{
	bytea *made = palloc(VARHDRSZ + length);

	memcpy(VARDATA(made), bytes, length);
	SET_VARSIZE(made, VARHDRSZ + length);
	return made;
}

void
pfs_name_chunk_fill(const PfsNameTable *names, const PfsNameRow *rows, uint32 count, Datum *values)
{
	uint8 present[PFS_NAME_BITMAP_BYTES] = { 0 };
	PfsBytes packed;

	for (uint32 i = 0; i < count; i++)
	{
		/* All rows belong to one chunk, so their ids differ in these bits only. */
		uint32 bit = (uint32) rows[i].id % PFS_NAME_CHUNK_ROWS;

		present[bit / 8] |= (uint8) (1 << bit % 8);
	}
	if (names->pack(rows, count, pfs_palloc_allocator(CurrentMemoryContext), &packed) != PFS_OK)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Names could not be compressed.")));
	values[PFS_NAME_CHUNK_NUMBER - 1] = Int32GetDatum(pfs_name_chunk_of(rows[0].id));
	values[PFS_NAME_CHUNK_PRESENT - 1] = PointerGetDatum(make_bytea(present, sizeof(present)));
	values[PFS_NAME_CHUNK_PAYLOAD - 1] = PointerGetDatum(make_bytea(packed.data, packed.length));
	pfree(packed.data);
}

void
pfs_name_chunks_begin(PfsNameScan *scan, const PfsNameTable *names, Snapshot snapshot,
					  LOCKMODE lock)
{
	pfs_name_scan_begin(scan, names, names->chunks, snapshot, lock);
}

bool
pfs_name_chunks_find(PfsNameScan *scan, int32 number, PfsNameChunk *chunk, ItemPointer tid)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->context);
	ScanKeyData key;
	HeapTuple tuple;
	bool should_free;
	bool is_there;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(number));
	index_rescan(scan->scan, &key, 1, NULL, 0);
	is_there = index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot);
	MemoryContextSwitchTo(caller);
	if (!is_there)
		return false;
	/*
	 * The slot keeps the tuple until the next search, and with it the payload that chunk points to.
	 */
	tuple = ExecFetchSlotHeapTuple(scan->slot, false, &should_free);
	pfs_name_chunk_read(scan->names, tuple, RelationGetDescr(scan->table), chunk);
	if (tid != NULL)
		*tid = tuple->t_self;
	return true;
}

void
pfs_name_chunks_each(const PfsNameTable *names, PfsNameChunkFn function, void *argument)
{
	MemoryContext scratch;
	TupleTableSlot *slot;
	TableScanDesc scan;
	Relation table;

	if (!pfs_names_are_packed())
		return;
	scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore name chunk", ALLOCSET_DEFAULT_SIZES);
	table = pfs_table_open(names->chunks, AccessShareLock);
	slot = table_slot_create(table, NULL);
	scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);
		PfsNameChunk chunk;
		bool should_free;

		CHECK_FOR_INTERRUPTS();
		pfs_name_chunk_read(names, ExecFetchSlotHeapTuple(slot, false, &should_free),
							RelationGetDescr(table), &chunk);
		function(&chunk, argument);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(table, NoLock);
}
