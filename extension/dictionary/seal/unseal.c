/*
 * unseal.c
 *		Moves sealed rows back to the table of young rows.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "dictionary/cache/name_chunks.h"
#include "dictionary/seal/leaves.h"
#include "dictionary/seal/row_writer.h"
#include "dictionary/seal/unseal.h"

PG_FUNCTION_INFO_V1(profstore_unseal);
PG_FUNCTION_INFO_V1(profstore_condemn_sealed);

/*
 * Number of chunks whose rows are moved together. Their rows stay in memory until all are stored.
 */
#define BATCH_CHUNKS 16

/* Source and target of the move. */
typedef struct Unsealing
{
	const PfsNameTable *names;
	PfsNameScan scan;
	PfsRowWriter *writer;
	uint8 key[PFS_SIPHASH_KEY_BYTES];
	PfsNameEntries entries;
	bool are_condemned;
	uint32 count;
} Unsealing;

/* Moves one row. Memory that it points to must stay until its batch is stored. */
static void
unseal_row(Unsealing *unsealing, const PfsNameRow *utf8)
{
	PfsNameRow row = *utf8;

	/* The digest is that of the UTF-8 text, so it is computed before the row is converted. */
	pfs_name_entries_add(&unsealing->entries, unsealing->names, unsealing->key, utf8);
	unsealing->names->from_utf8(&row);
	row.is_condemned = unsealing->are_condemned;
	unsealing->names->fill(&row, pfs_row_writer_add(unsealing->writer)->tts_values);
	unsealing->count++;
}

static void
store_rest(Unsealing *unsealing, ItemPointer tid, const PfsNameRow *rest, uint32 count)
{
	Relation table = unsealing->scan.table;
	bool nulls[PFS_NAME_CHUNK_COLUMNS] = { false };
	Datum values[PFS_NAME_CHUNK_COLUMNS];

	if (count == 0)
	{
		/* A chunk without rows would be refused as damaged. */
		CatalogTupleDelete(table, tid);
		return;
	}
	pfs_name_chunk_fill(unsealing->names, rest, count, values);
	CatalogTupleUpdate(table, tid, heap_form_tuple(RelationGetDescr(table), values, nulls));
}

/* Moves the rows of one chunk with these ids. */
static void
unseal_of_chunk(Unsealing *unsealing, const int32 *ids, uint32 count)
{
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	uint32 rest = 0;
	uint32 next = 0;
	PfsNameChunk chunk;
	ItemPointerData tid;

	/* The ids are young, or do not exist. */
	if (!pfs_name_chunks_find(&unsealing->scan, pfs_name_chunk_of(ids[0]), &chunk, &tid))
		return;
	pfs_name_chunk_unpack(unsealing->names, &chunk, rows);
	for (uint32 i = 0; i < chunk.count; i++)
	{
		while (next < count && ids[next] < rows[i].id)
			next++;
		if (next < count && ids[next] == rows[i].id)
			unseal_row(unsealing, &rows[i]);
		else
			/* Rows that stay move to the front; rest never exceeds i. */
			rows[rest++] = rows[i];
	}
	/* A chunk from which no row was taken stays as it is. */
	if (rest < chunk.count)
		store_rest(unsealing, &tid, rows, rest);
}

/*
 * Moves the ids of up to BATCH_CHUNKS chunks. Returns how many ids at the start of the list have
 * been processed.
 */
static uint32
unseal_batch(Unsealing *unsealing, const int32 *ids, uint32 count)
{
	uint32 done = 0;
	uint32 end;

	unsealing->writer = pfs_row_writer_begin(unsealing->names->rows);
	for (int chunks = 0; chunks < BATCH_CHUNKS && done < count; chunks++)
	{
		CHECK_FOR_INTERRUPTS();
		for (end = done + 1;
			 end < count && pfs_name_chunk_of(ids[end]) == pfs_name_chunk_of(ids[done]);)
			end++;
		unseal_of_chunk(unsealing, ids + done, end - done);
		done = end;
	}
	pfs_row_writer_end(unsealing->writer);
	return done;
}

/* Moves the rows of the given ids out of their chunks, in batches. */
static void
unseal_all(Unsealing *unsealing, Snapshot snapshot, const int32 *ids, uint32 count)
{
	MemoryContext batch = AllocSetContextCreate(CurrentMemoryContext, "profstore unsealed rows",
												ALLOCSET_DEFAULT_SIZES);

	/* the array outlives the batches, so it must not be allocated in their memory */
	PFS_RESERVE(unsealing->entries.digests, unsealing->entries.capacity, 64);
	pfs_name_chunks_begin(&unsealing->scan, unsealing->names, snapshot, RowExclusiveLock);
	for (uint32 i = 0; i < count;)
	{
		MemoryContext caller = MemoryContextSwitchTo(batch);

		i += unseal_batch(unsealing, ids + i, count - i);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(batch);
	}
	pfs_name_scan_end(&unsealing->scan);
}

uint32
pfs_names_unseal(const PfsNameTable *names, const int32 *ids, uint32 count, bool are_condemned)
{
	Unsealing unsealing = { .names = names, .are_condemned = are_condemned };
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore unsealing", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	Snapshot snapshot;

	CommandCounterIncrement();
	/* The caller holds the lock of the epoch, so no later change of chunks is missed. */
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	if (pfs_name_key_read(snapshot, unsealing.key))
	{
		unseal_all(&unsealing, snapshot, ids, count);
		pfs_name_leaves_change(names, NULL, &unsealing.entries);
	}
	UnregisterSnapshot(snapshot);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	return unsealing.count;
}

/* unseal(names text, id int4) -> bool: whether it was sealed */
PGDLLEXPORT Datum
profstore_unseal(PG_FUNCTION_ARGS)
{
	const PfsNameTable *names = pfs_name_table(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	int32 id = PG_GETARG_INT32(1);

	PG_RETURN_BOOL(pfs_names_unseal(names, &id, 1, false) > 0);
}

/* Sealed ids that a bitmap of referenced ids lacks. */
typedef struct Unreferenced
{
	const uint8 *bits;
	Size bytes;
	int32 *ids;
	uint32 count;
	uint32 capacity;
	MemoryContext context;
} Unreferenced;

/* Lists the rows of a chunk whose bits are not set. */
static void
list_unreferenced(const PfsNameChunk *chunk, void *argument)
{
	Unreferenced *unreferenced = argument;

	for (int32 i = 0; i < PFS_NAME_CHUNK_ROWS; i++)
	{
		int32 id = chunk->number * PFS_NAME_CHUNK_ROWS + i;
		Size byte = (Size) id / 8;

		if (!pfs_name_chunk_has(chunk, i) ||
			/*
			 * Sealing takes the lock of upkeep, which the collection holds, so no sealed id lies
			 * beyond the bitmap.
			 */
			(byte < unreferenced->bytes && (unreferenced->bits[byte] >> id % 8 & 1) != 0))
			continue;
		PFS_RESERVE_IN(unreferenced->context, unreferenced->ids, unreferenced->capacity,
					   unreferenced->count + 1);
		unreferenced->ids[unreferenced->count++] = id;
	}
}

static int
unsealed_compare(const void *a, const void *b)
{
	int32 left = *(const int32 *) a;
	int32 right = *(const int32 *) b;

	return (left > right) - (left < right);
}

/* condemn_sealed(names text, referenced bytea) -> int8, how many were unsealed and condemned */
PGDLLEXPORT Datum
profstore_condemn_sealed(PG_FUNCTION_ARGS)
{
	const PfsNameTable *names = pfs_name_table(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	const bytea *referenced = PG_GETARG_BYTEA_PP(1);
	Unreferenced unreferenced = { .bits = (const uint8 *) VARDATA_ANY(referenced),
								  .bytes = VARSIZE_ANY_EXHDR(referenced),
								  .context = CurrentMemoryContext };

	PushActiveSnapshot(GetLatestSnapshot());
	pfs_name_chunks_each(names, list_unreferenced, &unreferenced);
	PopActiveSnapshot();
	if (unreferenced.count > 0)
		qsort(unreferenced.ids, unreferenced.count, sizeof(int32), unsealed_compare);
	PG_RETURN_INT64(pfs_names_unseal(names, unreferenced.ids, unreferenced.count, true));
}
