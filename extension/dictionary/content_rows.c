/*
 * content_rows.c
 *		Functions and locations by content: known ones found, new ones stored, many in one call.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/sequence.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "dictionary/cache.h"
#include "dictionary/content_rows.h"
#include "dictionary/epoch.h"

/* As many rows as COPY stores at once. */
#define BATCH_ROWS 1000

struct PfsContentWriter
{
	Relation table;
	Oid sequence;
	CommandId command_id;
	BulkInsertState bulk;
	EState *estate;
	ResultRelInfo *indexes;
	int count; /* of slots that are filled */
	TupleTableSlot *slots[BATCH_ROWS];
};

void
pfs_interning_begin(void)
{
	ForceSyncCommit();
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	pfs_epoch_pin();
}

void
pfs_interning_end(void)
{
	PopActiveSnapshot();
	CommandCounterIncrement();
}

void
pfs_content_probe_begin(PfsContentProbe *probe, const char *table, int key_count)
{
	probe->table = pfs_table_open(table, AccessShareLock);
	probe->index = index_open(pfs_relation_oid(psprintf("%s_content", table)), AccessShareLock);
	probe->slot = table_slot_create(probe->table, NULL);
	probe->scan = pfs_index_beginscan(probe->table, probe->index, GetActiveSnapshot(), key_count);
}

void
pfs_content_probe_end(PfsContentProbe *probe)
{
	index_endscan(probe->scan);
	ExecDropSingleTupleTableSlot(probe->slot);
	index_close(probe->index, AccessShareLock);
	table_close(probe->table, NoLock);
}

PfsContentWriter *
pfs_content_writer_begin(const char *table)
{
	PfsContentWriter *writer = palloc0(sizeof(PfsContentWriter));
	int name_length = (int) strlen(table) - 1;

	writer->table = pfs_table_open(table, RowExclusiveLock);
	/* functions have function_ids */
	writer->sequence = pfs_relation_oid(psprintf("%.*s_ids", name_length, table));
	writer->command_id = GetCurrentCommandId(true);
	writer->bulk = GetBulkInsertState();
	writer->estate = CreateExecutorState();
	writer->indexes = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->indexes, writer->table, 0, NULL, 0);
	ExecOpenIndices(writer->indexes, false);
	return writer;
}

static void
flush(PfsContentWriter *writer)
{
	MemoryContext caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < writer->count; i++)
		ExecStoreVirtualTuple(writer->slots[i]);
	table_multi_insert(writer->table, writer->slots, writer->count, writer->command_id, 0,
					   writer->bulk);
	for (int i = 0; i < writer->count; i++)
	{
		pfs_insert_index_entries(writer->indexes, writer->slots[i], writer->estate);
		ExecClearTuple(writer->slots[i]);
	}
	MemoryContextSwitchTo(caller);
	ResetPerTupleExprContext(writer->estate);
	writer->count = 0;
}

Datum *
pfs_content_writer_add(PfsContentWriter *writer, int32 *id)
{
	TupleTableSlot *slot;

	if (writer->count == BATCH_ROWS)
		flush(writer);
	if (writer->slots[writer->count] == NULL)
	{
		slot = table_slot_create(writer->table, NULL);
		writer->slots[writer->count] = slot;
	}
	slot = writer->slots[writer->count++];
	memset(slot->tts_isnull, false, (size_t) slot->tts_tupleDescriptor->natts);
	*id = (int32) nextval_internal(writer->sequence, false);
	slot->tts_values[0] = Int32GetDatum(*id);
	return slot->tts_values;
}

void
pfs_content_writer_end(PfsContentWriter *writer)
{
	if (writer->count > 0)
		flush(writer);
	for (int i = 0; i < BATCH_ROWS && writer->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	FreeBulkInsertState(writer->bulk);
	ExecCloseIndices(writer->indexes);
	FreeExecutorState(writer->estate);
	table_close(writer->table, NoLock);
	pfree(writer->indexes);
	pfree(writer);
}
