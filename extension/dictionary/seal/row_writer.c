/*
 * row_writer.c
 *		Inserts many rows into a table and its indexes.
 */
#include "profstore.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "base/distributed.h"
#include "base/relations.h"
#include "dictionary/seal/row_writer.h"

/* Rows that are inserted together; COPY uses the same number. */
#define BATCH_ROWS 1000

struct PfsRowWriter
{
	Relation table;
	CommandId command_id;
	BulkInsertState bulk;
	EState *estate;
	ResultRelInfo *indexes;
	int count; /* number of filled slots */
	TupleTableSlot *slots[BATCH_ROWS];
};

PfsRowWriter *
pfs_row_writer_begin(const char *table)
{
	PfsRowWriter *writer = palloc0(sizeof(PfsRowWriter));

	writer->table = pfs_table_open(table, RowExclusiveLock);
	/*
	 * Rows are inserted without the planner, so a distributed table would not send them to its
	 * nodes.
	 */
	pfs_require_local(RelationGetRelid(writer->table), "store names in");
	/* One command id for all rows: a later command sees all of them. */
	writer->command_id = GetCurrentCommandId(true);
	writer->bulk = GetBulkInsertState();
	writer->estate = CreateExecutorState();
	writer->indexes = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->indexes, writer->table, 0, NULL, 0);
	ExecOpenIndices(writer->indexes, false);
	return writer;
}

/* Inserts the collected rows and their index entries. */
static void
row_writer_flush(PfsRowWriter *writer)
{
	/* Values computed for indexes are freed after each batch. */
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

TupleTableSlot *
pfs_row_writer_add(PfsRowWriter *writer)
{
	TupleTableSlot *slot;

	if (writer->count == BATCH_ROWS)
		row_writer_flush(writer);
	/* Slots are made when they are first needed and used again for each batch. */
	if (writer->slots[writer->count] == NULL)
		writer->slots[writer->count] = table_slot_create(writer->table, NULL);
	slot = writer->slots[writer->count++];
	/* Most columns have no nulls, so callers set only those that do. */
	memset(slot->tts_isnull, false, (size_t) slot->tts_tupleDescriptor->natts);
	return slot;
}

void
pfs_row_writer_end(PfsRowWriter *writer)
{
	if (writer->count > 0)
		row_writer_flush(writer);
	for (int i = 0; i < BATCH_ROWS && writer->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	FreeBulkInsertState(writer->bulk);
	ExecCloseIndices(writer->indexes);
	FreeExecutorState(writer->estate);
	table_close(writer->table, NoLock);
	pfree(writer->indexes);
	pfree(writer);
}
