/*
 * seal.c
 *		Packs young functions and locations.
 *
 * 1. Young rows are listed by id. Each round rewrites every chunk and leaf that they belong to, so
 *    there must be enough of them.
 * 2. The rows of one chunk are deleted, unless another transaction is changing them, and packed
 *    together with the chunk's rows.
 * 3. The leaves get all their digests at once.
 *
 * A row moves in one transaction, so every snapshot sees it in one place, whoever stored it.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/cache/name_chunks.h"
#include "dictionary/seal/leaves.h"
#include "dictionary/seal/seal.h"

/*
 * About how many rows are sealed at once. It bounds the time that the epoch is locked. Rows that
 * must stay young do not count; otherwise many such rows would keep all others young forever.
 */
#define SEAL_ROWS 262144

/*
 * Rows are sealed once the young ones are at least one part in this many of the sealed ones,
 * because each round rewrites about as many sealed rows.
 */
#define SEAL_DIVISOR 64

/* An index with this many blocks more than its table is worth rebuilding. */
#define SPARE_BLOCKS 16

/* Columns of profstore.dictionary_key. */
enum
{
	KEY_ONE,
	KEY_BYTES,
	KEY_COLUMNS
};

typedef struct Young
{
	int32 id;
	ItemPointerData tid;
} Young;

typedef struct Sealing
{
	const PfsNameTable *names;
	Relation table; /* table of young rows */
	TupleTableSlot *slot;
	Snapshot snapshot;
	PfsNameScan scan;
	uint8 key[PFS_SIPHASH_KEY_BYTES];
	PfsNameEntries entries;
	MemoryContext memory; /* memory for entries */
	Young *young;
	uint32 young_count;
	uint32 young_capacity;
} Sealing;

/* Reads the key of digests; creates it if the database has no key yet. */
static void
need_key(Sealing *sealing)
{
	bool nulls[KEY_COLUMNS] = { false };
	Datum values[KEY_COLUMNS];
	bytea *stored;
	Relation table;

	if (pfs_name_key_read(sealing->snapshot, sealing->key))
		return;
	/* With the key, somebody could make two functions collide. */
	if (!pg_strong_random(sealing->key, sizeof(sealing->key)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not make a random key")));
	stored = palloc(VARHDRSZ + sizeof(sealing->key));
	SET_VARSIZE(stored, VARHDRSZ + sizeof(sealing->key));
	memcpy(VARDATA(stored), sealing->key, sizeof(sealing->key));
	values[KEY_ONE] = BoolGetDatum(true);
	values[KEY_BYTES] = PointerGetDatum(stored);
	table = pfs_table_open("dictionary_key", RowExclusiveLock);
	CatalogTupleInsert(table, heap_form_tuple(RelationGetDescr(table), values, nulls));
	table_close(table, NoLock);
}

static int
compare_young(const void *a, const void *b)
{
	int32 left = ((const Young *) a)->id;
	int32 right = ((const Young *) b)->id;

	return (left > right) - (left < right);
}

/* Lists the rows that may be sealed, by id: neither condemned ones nor those with a negative id. */
static void
list_young(Sealing *sealing)
{
	TableScanDesc scan = table_beginscan(sealing->table, sealing->snapshot, 0, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, sealing->slot))
	{
		const Datum *values = sealing->slot->tts_values;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(sealing->slot);
		/* Condemned rows will be removed, and packed rows cannot be marked. */
		if (DatumGetBool(values[sealing->names->condemned_column - 1]) ||
			DatumGetInt32(values[0]) < 0)
			continue;
		PFS_RESERVE(sealing->young, sealing->young_capacity, sealing->young_count + 1);
		sealing->young[sealing->young_count++] =
			(Young){ DatumGetInt32(values[0]), sealing->slot->tts_tid };
	}
	table_endscan(scan);
	if (sealing->young_count > 0)
		qsort(sealing->young, sealing->young_count, sizeof(Young), compare_young);
}

static void
count_sealed(const PfsNameChunk *chunk, void *argument)
{
	*(uint64 *) argument += chunk->count;
}

/* Deletes a young row; returns false if it must stay. */
static bool
take_young(Sealing *sealing, const Young *young, PfsNameRow *utf8)
{
	TM_FailureData failure;
	PfsNameRow row;
	ItemPointerData tid = young->tid;

	if (!table_tuple_fetch_row_version(sealing->table, &tid, sealing->snapshot, sealing->slot))
		elog(ERROR, "could not find row %d of \"%s\" again", young->id, sealing->names->rows);
	slot_getallattrs(sealing->slot);
	sealing->names->read(sealing->slot, &row);
	/*
	 * Convert before deleting: a row that cannot be packed must stay. wait is false, so a row that
	 * another transaction changes stays, too.
	 */
	return sealing->names->to_utf8(&row, utf8) &&
		   table_tuple_delete(sealing->table, &tid, GetCurrentCommandId(true), sealing->snapshot,
							  InvalidSnapshot, false, &failure, false) == TM_Ok;
}

static void
names_store_chunk(Sealing *sealing, ItemPointer tid, const PfsNameRow *rows, uint32 count)
{
	Relation table = sealing->scan.table;
	bool nulls[PFS_NAME_CHUNK_COLUMNS] = { false };
	Datum values[PFS_NAME_CHUNK_COLUMNS];
	HeapTuple tuple;

	pfs_name_chunk_fill(sealing->names, rows, count, values);
	tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
	if (tid == NULL)
		CatalogTupleInsert(table, tuple);
	else
		CatalogTupleUpdate(table, tid, tuple);
}

static void
names_note_sealed(Sealing *sealing, const PfsNameRow *utf8)
{
	MemoryContext caller = MemoryContextSwitchTo(sealing->memory);

	pfs_name_entries_add(&sealing->entries, sealing->names, sealing->key, utf8);
	MemoryContextSwitchTo(caller);
}

/* Packs the young rows of one chunk with those already in it. Returns how many were added. */
static uint32
seal_in_chunk(Sealing *sealing, const Young *young, uint32 count)
{
	PfsNameRow old[PFS_NAME_CHUNK_ROWS];
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	PfsNameChunk chunk = { .count = 0 };
	uint32 row_count = 0;
	uint32 sealed = 0;
	uint32 next = 0;
	ItemPointerData tid;
	bool is_there =
		pfs_name_chunks_find(&sealing->scan, pfs_name_chunk_of(young[0].id), &chunk, &tid);

	if (is_there)
		pfs_name_chunk_unpack(sealing->names, &chunk, old);
	for (uint32 i = 0; i < count; i++)
	{
		/* A merge of two sorted lists: rows of the chunk, and young ones. */
		while (next < chunk.count && old[next].id < young[i].id)
			rows[row_count++] = old[next++];
		if (is_there && pfs_name_chunk_has(&chunk, young[i].id))
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("id %d of \"profstore.%s\" exists twice", young[i].id,
								   sealing->names->name),
							errhint("Delete it from profstore.%s.", sealing->names->rows)));
		if (take_young(sealing, &young[i], &rows[row_count]))
		{
			names_note_sealed(sealing, &rows[row_count++]);
			sealed++;
		}
	}
	while (next < chunk.count)
		rows[row_count++] = old[next++];
	/* If all rows had to stay, the chunk is not rewritten. */
	if (sealed > 0)
		names_store_chunk(sealing, is_there ? &tid : NULL, rows, row_count);
	return sealed;
}

/* Seals the listed rows. Returns how many were sealed. */
static int64
seal_listed(Sealing *sealing)
{
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore sealing", ALLOCSET_DEFAULT_SIZES);
	uint32 count = sealing->young_count;
	int64 sealed = 0;
	uint32 end;

	need_key(sealing);
	pfs_name_chunks_begin(&sealing->scan, sealing->names, sealing->snapshot, RowExclusiveLock);
	/* Chunks are never divided between rounds, because each round rewrites them whole. */
	for (uint32 i = 0; i < count && sealed < SEAL_ROWS; i = end)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);
		int32 number = pfs_name_chunk_of(sealing->young[i].id);

		CHECK_FOR_INTERRUPTS();
		for (end = i + 1; end < count && pfs_name_chunk_of(sealing->young[end].id) == number;)
			end++;
		sealed += seal_in_chunk(sealing, sealing->young + i, end - i);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	pfs_name_scan_end(&sealing->scan);
	/* All digests at once: each leaf is then rewritten at most once per round. */
	pfs_name_leaves_change(sealing->names, &sealing->entries, NULL);
	MemoryContextDelete(scratch);
	return sealed;
}

/*
 * Packs the young rows of one table if there are enough of them compared with the packed ones.
 * Returns the number of rows packed.
 */
static int64
names_seal(const PfsNameTable *names)
{
	Sealing sealing = { .names = names };
	uint64 sealed_before = 0;
	int64 sealed = 0;
	MemoryContext caller = CurrentMemoryContext;

	sealing.memory = AllocSetContextCreate(CurrentMemoryContext, "profstore young names",
										   ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(sealing.memory);
	CommandCounterIncrement();
	sealing.table = pfs_table_open(names->rows, RowExclusiveLock);
	sealing.slot = table_slot_create(sealing.table, NULL);
	sealing.snapshot = RegisterSnapshot(GetLatestSnapshot());
	PushActiveSnapshot(sealing.snapshot);
	list_young(&sealing);
	pfs_name_chunks_each(names, count_sealed, &sealed_before);
	if (sealing.young_count > sealed_before / SEAL_DIVISOR)
		sealed = seal_listed(&sealing);
	PopActiveSnapshot();
	UnregisterSnapshot(sealing.snapshot);
	ExecDropSingleTupleTableSlot(sealing.slot);
	table_close(sealing.table, NoLock);
	CommandCounterIncrement();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(sealing.memory);
	return sealed;
}

int64
pfs_names_seal(void)
{
	if (!pfs_names_are_packed() ||
		/* The lock of upkeep: merging, collecting and sealing exclude each other. */
		!ConditionalLockRelationOid(pfs_relation_oid("dictionary_partitions"),
									ShareUpdateExclusiveLock))
		return 0;
	if (!pfs_epoch_lock_or_skip())
	{
		pfs_report_skipped("the packing of names", "another transaction is changing them");
		return 0;
	}
	return names_seal(&pfs_function_names) + names_seal(&pfs_location_names);
}

/* Rebuilds an index if its locks are available at once. */
static void
chunk_rebuild(Relation table, Oid index_id)
{
	ReindexParams params = { 0 };
	Relation index = index_open(index_id, AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(index);

	index_close(index, AccessShareLock);
	/* An index shrinks only when it is rebuilt; its table shrinks with VACUUM. */
	if (blocks <= RelationGetNumberOfBlocks(table) + SPARE_BLOCKS ||
		!ConditionalLockRelationOid(RelationGetRelid(table), ShareLock))
		return;
	if (ConditionalLockRelationOid(index_id, AccessExclusiveLock))
		pfs_reindex_index(index_id, &params);
	else
		/* Not kept until the end of the transaction, because it blocks interning. */
		UnlockRelationOid(RelationGetRelid(table), ShareLock);
}

static void
chunk_shrink(const PfsNameTable *names)
{
	Relation table = pfs_table_open(names->rows, AccessShareLock);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;

	foreach(cell, indexes)
		chunk_rebuild(table, lfirst_oid(cell));
	list_free(indexes);
	table_close(table, AccessShareLock);
}

void
pfs_names_shrink(void)
{
	if (!pfs_names_are_packed())
		return;
	chunk_shrink(&pfs_function_names);
	chunk_shrink(&pfs_location_names);
}
