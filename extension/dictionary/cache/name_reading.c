/*
 * name_reading.c
 *		Reads functions and locations by id.
 *
 * Chunks are read first, one after the other, because they hold most ids. An id that no chunk has
 * belongs to a young row.
 */
#include "profstore.h"

#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/name_chunks.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/cache/rows.h"

/* A request, and the callback for each row. */
typedef struct Reading
{
	const PfsNameTable *names;
	PfsNameRowFn function;
	void *argument;
	bool only_ids;
	int32 greatest;
} Reading;

static void
give_young(TupleTableSlot *slot, void *argument)
{
	const Reading *reading = argument;
	PfsNameRow row;

	/* Whether a row exists can be answered without detoasting its texts. */
	if (reading->only_ids)
		row = (PfsNameRow){ .id = DatumGetInt32(slot->tts_values[0]),
							.is_condemned = DatumGetBool(
								slot->tts_values[reading->names->condemned_column - 1]) };
	else
		reading->names->read(slot, &row);
	reading->function(&row, reading->argument);
}

/* Passes on the rows of a chunk with some of the ids; lists the other ids in missing[]. */
static uint32
give_sealed(const Reading *reading, const PfsNameChunk *chunk, const int32 *ids, uint32 count,
			int32 *missing)
{
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	uint32 missing_count = 0;
	uint32 row = 0;

	if (!reading->only_ids)
		pfs_name_chunk_unpack(reading->names, chunk, rows);
	for (uint32 i = 0; i < count; i++)
	{
		/* The bitmap of present ids answers without unpacking. */
		if (!pfs_name_chunk_has(chunk, ids[i]))
		{
			missing[missing_count++] = ids[i];
			continue;
		}
		if (reading->only_ids)
			rows[row] = (PfsNameRow){ .id = ids[i] };
		else
		{
			/* Both lists ascend, and the bitmap has shown that the row exists. */
			while (rows[row].id != ids[i])
				row++;
			reading->names->from_utf8(&rows[row]);
		}
		reading->function(&rows[row], reading->argument);
	}
	return missing_count;
}

/* Passes on all sealed rows with these ids. missing has room for all ids, and gets the others. */
static uint32
read_sealed(const Reading *reading, const int32 *ids, uint32 count, int32 *missing)
{
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore name chunk", ALLOCSET_DEFAULT_SIZES);
	uint32 missing_count = 0;
	PfsNameScan scan;
	uint32 end;

	pfs_name_chunks_begin(&scan, reading->names, GetActiveSnapshot(), AccessShareLock);
	for (uint32 i = 0; i < count; i = end)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);
		int32 number = pfs_name_chunk_of(ids[i]);
		PfsNameChunk chunk;

		CHECK_FOR_INTERRUPTS();
		/* Ids ascend, so those of one chunk are neighbours and the chunk is read once. */
		for (end = i + 1; end < count && pfs_name_chunk_of(ids[end]) == number;)
			end++;
		/* Negative ids come from damaged rows, and no chunk has them. */
		if (ids[i] >= 0 && pfs_name_chunks_find(&scan, number, &chunk, NULL))
			missing_count +=
				give_sealed(reading, &chunk, ids + i, end - i, missing + missing_count);
		else
			for (uint32 j = i; j < end; j++)
				missing[missing_count++] = ids[j];
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	pfs_name_scan_end(&scan);
	MemoryContextDelete(scratch);
	return missing_count;
}

static void
read_names(Reading *reading, const int32 *ids, uint32 count, bool with_young)
{
	int32 *missing;
	uint32 missing_count;

	if (count == 0)
		return;
	missing = PFS_ARRAY(int32, count);
	missing_count = count;
	if (pfs_names_are_packed())
		missing_count = read_sealed(reading, ids, count, missing);
	else
		memcpy(missing, ids, count * sizeof(int32));
	if (with_young)
		pfs_rows_read(pfs_young_table(reading->names), missing, missing_count, give_young, reading);
	pfree(missing);
}

void
pfs_names_read(const PfsNameTable *names, const int32 *ids, uint32 count, PfsNameRowFn function,
			   void *argument)
{
	Reading reading = { names, function, argument };

	read_names(&reading, ids, count, true);
}

void
pfs_names_read_sealed(const PfsNameTable *names, const int32 *ids, uint32 count,
					  PfsNameRowFn function, void *argument)
{
	Reading reading = { names, function, argument };

	read_names(&reading, ids, count, false);
}

void
pfs_names_read_ids(const PfsNameTable *names, const int32 *ids, uint32 count, PfsNameRowFn function,
				   void *argument)
{
	Reading reading = { names, function, argument, .only_ids = true };

	read_names(&reading, ids, count, true);
}

void
pfs_names_read_sealed_ids(const PfsNameTable *names, const int32 *ids, uint32 count,
						  PfsNameRowFn function, void *argument)
{
	Reading reading = { names, function, argument, .only_ids = true };

	read_names(&reading, ids, count, false);
}

static void
give_chunk(const PfsNameChunk *chunk, void *argument)
{
	const Reading *reading = argument;
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];

	pfs_name_chunk_unpack(reading->names, chunk, rows);
	for (uint32 i = 0; i < chunk->count; i++)
		reading->function(&rows[i], reading->argument);
}

/* Scans the table of young rows, and calls function for each row in a scratch context. */
static void
each_young(const Reading *reading, void (*function)(TupleTableSlot *slot, void *argument),
		   void *argument)
{
	Relation table = pfs_table_open(pfs_young_table(reading->names), AccessShareLock);
	TableScanDesc scan = table_beginscan(table, GetActiveSnapshot(), 0, NULL);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore name", ALLOCSET_SMALL_SIZES);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		function(slot, argument);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	table_close(table, NoLock);
}

void
pfs_names_read_all(const PfsNameTable *names, PfsNameRowFn function, void *argument)
{
	Reading reading = { names, function, argument };

	pfs_name_chunks_each(names, give_chunk, &reading);
	each_young(&reading, give_young, &reading);
}

static void
note_greatest(TupleTableSlot *slot, void *argument)
{
	Reading *reading = argument;

	reading->greatest = Max(reading->greatest, DatumGetInt32(slot->tts_values[0]));
}

static void
note_greatest_of_chunk(const PfsNameChunk *chunk, void *argument)
{
	Reading *reading = argument;

	for (int32 i = 0; i < PFS_NAME_CHUNK_ROWS; i++)
		if (pfs_name_chunk_has(chunk, i))
			reading->greatest = Max(reading->greatest, chunk->number * PFS_NAME_CHUNK_ROWS + i);
}

int32
pfs_names_greatest_id(const PfsNameTable *names)
{
	Reading reading = { .names = names };

	pfs_name_chunks_each(names, note_greatest_of_chunk, &reading);
	each_young(&reading, note_greatest, &reading);
	return reading.greatest;
}
