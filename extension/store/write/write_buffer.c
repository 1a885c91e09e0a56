/*
 * write_buffer.c
 *		Holds the row buffers of the transaction, and decides when they are written.
 *
 * A buffer belongs to a file (storage id) and a column layout: a table that is altered between
 * inserts gets a second buffer. All memory is a child of TopTransactionContext and is freed with
 * the transaction.
 *
 * 1. Rows are appended. If the buffers exceed profstore.write_buffer_size, the largest are written.
 * 2. A flush writes segments. A segment has the rows of one command of one subtransaction, or of
 *    several commands that no running query can distinguish (observers.c).
 * 3. The rest is flushed at commit. Before that, scans read images of the buffers, and an abort of
 *    a subtransaction removes the rows it has appended.
 */
#include "store/write/write_buffer.h"

#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "store/segment/directory.h"
#include "store/segment/ledger.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"
#include "store/segment/summary.h"
#include "store/write/observers.h"

#define WRITE_BUFFER_DEFAULT_KB (64 * 1024)
#define WRITE_BUFFER_MIN_KB		64
#define WRITE_BUFFER_MAX_KB		(1024 * 1024)

typedef struct BufferKey
{
	int64 storage_id;
	/*
	 * needed beside the storage id, because ids start again if the extension is dropped and created
	 * again
	 */
	RelFileNumber file;
	int16 attribute_count; /* ADD COLUMN raises it */
	int16 live_count;	   /* DROP COLUMN lowers it */
} BufferKey;

StaticAssertDecl(sizeof(BufferKey) == 16, "a hash key has no padding");

typedef struct PendingTable
{
	BufferKey key; /* hash key, first */
	Oid relation_id;
	/* the subtransaction that dropped the file; InvalidSubTransactionId if it exists */
	SubTransactionId dropped_by;
	PfsRowBuffer rows;
} PendingTable;

static int write_buffer_kb = WRITE_BUFFER_DEFAULT_KB;

/* This transaction's buffers; NULL until the first row. */
static MemoryContext pending_context = NULL;
static HTAB *pending_tables = NULL;

static void
create_pending(void)
{
	HASHCTL control = { 0 };

	pending_context = AllocSetContextCreate(TopTransactionContext, "profstore pending rows",
											ALLOCSET_SMALL_SIZES);
	control.keysize = sizeof(BufferKey);
	control.entrysize = sizeof(PendingTable);
	control.hcxt = pending_context;
	pending_tables = hash_create("profstore pending tables", 16, &control,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Returns the waiting rows of a table. A change of its columns begins another buffer. */
static PendingTable *
get_table(Relation relation)
{
	TupleDesc desc = RelationGetDescr(relation);
	BufferKey key = { pfs_storage_id(relation), relation->rd_locator.relNumber, (int16) desc->natts,
					  0 };
	PfsRowBuffer rows;
	PendingTable *table;

	/*
	 * ADD COLUMN and DROP COLUMN change the layout within the transaction, so both counts belong to
	 * the key.
	 */
	for (int i = 0; i < desc->natts; i++)
		key.live_count = (int16) (key.live_count + !TupleDescAttr(desc, i)->attisdropped);

	if (pending_tables == NULL)
		create_pending();
	table = hash_search(pending_tables, &key, HASH_FIND, NULL);
	if (table != NULL)
		return table;

	/* this call can raise an error, so it comes before the hash entry is made */
	pfs_row_buffer_init(&rows, relation, pending_context);
	table = hash_search(pending_tables, &key, HASH_ENTER, NULL);
	table->relation_id = RelationGetRelid(relation);
	table->dropped_by = InvalidSubTransactionId;
	table->rows = rows;
	return table;
}

/* Returns true if the buffer holds rows of the storage and its file has not been dropped. */
static bool
is_waiting(const PendingTable *table, int64 storage_id)
{
	return table->key.storage_id == storage_id && table->dropped_by == InvalidSubTransactionId;
}

static void
remove_table(PendingTable *table)
{
	pfs_row_buffer_fini(&table->rows);
	hash_search(pending_tables, &table->key, HASH_REMOVE, NULL);
}

/* Writes rows first .. end - 1 under one command id, in segments of bounded size. */
static void
buffer_write_rows(Relation relation, PfsDirectoryWriter *writer, const PendingTable *table,
				  uint32 first, uint32 end, CommandId command_id)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore flush", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsRowKey key = pfs_row_key(relation);

	/*
	 * The ledger's entry has the command id of the segments, so each snapshot sees all of them or
	 * none.
	 */
	pfs_ledger_add(table->key.storage_id, end - first, command_id);
	while (first < end)
	{
		uint32 count = Min(end - first, PFS_BUFFER_MAX_ROWS);
		PfsRows rows;

		pfs_rows_order(&table->rows, &key, first, count, &rows);
		pfs_segment_write(relation, table->key.storage_id, writer, &rows, command_id);
		first += count;
		/* A flush may write many segments, so the memory of each is freed before the next. */
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

/* Writes the rows from first on, in as few parts as the running queries allow. */
static void
write_runs(Relation relation, PfsDirectoryWriter *writer, const PendingTable *table, uint32 first)
{
	const PfsRowBuffer *rows = &table->rows;
	uint32 run = rows->run_count;

	/* Find the first run of the current subtransaction. */
	while (run > 0 && rows->runs[run - 1].first_row >= first)
		run--;
	while (run < rows->run_count)
	{
		/*
		 * Command ids need not ascend: an INSERT goes on under its own after its trigger has
		 * inserted rows under a later one.
		 */
		CommandId min = rows->runs[run].command_id;
		CommandId max = min;
		uint32 end = rows->row_count;

		/*
		 * Extend the segment by the runs that follow, as long as no running query sees only some of
		 * its rows.
		 */
		while (++run < rows->run_count)
		{
			CommandId command_id = rows->runs[run].command_id;

			if (pfs_observers_between(Min(min, command_id), Max(max, command_id)))
			{
				end = rows->runs[run].first_row;
				break;
			}
			min = Min(min, command_id);
			max = Max(max, command_id);
		}
		/*
		 * A snapshot between min and max that is taken later must not read this segment:
		 * pfs_observers_check() looks for it.
		 */
		if (min < max)
			pfs_observers_note_merged(table->key.storage_id, min, max);
		/*
		 * Under the greatest command id no query sees the segment before it would see all of its
		 * rows.
		 */
		buffer_write_rows(relation, writer, table, first, end, max);
		first = end;
	}
}

/*
 * Writes the current subtransaction's rows of a table. At the end of a transaction no snapshot is
 * active, so one is pushed, which writing TOAST values requires.
 */
static void
flush_table(PendingTable *table)
{
	/*
	 * Rows of outer subtransactions stay: written now, they would vanish with a rollback of this
	 * one.
	 */
	uint32 first = pfs_row_buffer_first_row(&table->rows, GetCurrentSubTransactionId());
	bool push_snapshot = !ActiveSnapshotSet();
	Relation relation;
	PfsDirectoryWriter *writer;

	if (first >= table->rows.row_count)
		return;

	/* no lock is needed here, because the inserting command holds one until the transaction ends */
	relation = table_open(table->relation_id, NoLock);
	/*
	 * pfs_write_buffer_drop() marks the rows of a replaced file, so this would be a row that got
	 * lost.
	 */
	if (pfs_storage_id(relation) != table->key.storage_id)
		elog(ERROR,
			 "rows for storage " INT64_FORMAT " wait, but table \"%s\" has storage " INT64_FORMAT,
			 table->key.storage_id, RelationGetRelationName(relation), pfs_storage_id(relation));

	if (push_snapshot)
		PushActiveSnapshot(GetTransactionSnapshot());
	writer = pfs_directory_writer_open();
	write_runs(relation, writer, table, first);
	pfs_directory_writer_close(writer);
	if (push_snapshot)
		PopActiveSnapshot();

	/* a new count of the table's rows is needed for the planner */
	pfs_storage_cache(relation)->counted_at_us = 0;
	table_close(relation, NoLock);
	if (first == 0)
		remove_table(table);
	else
		pfs_row_buffer_truncate(&table->rows, first);
}

/*
 * Writes the largest buffers of the current subtransaction until all together are within the limit.
 */
static void
limit_memory(void)
{
	SubTransactionId subxact = GetCurrentSubTransactionId();

	for (;;)
	{
		HASH_SEQ_STATUS status;
		PendingTable *table;
		PendingTable *largest = NULL;
		Size largest_bytes = 0;
		Size bytes = 0;

		hash_seq_init(&status, pending_tables);
		while ((table = hash_seq_search(&status)) != NULL)
		{
			Size table_bytes = pfs_row_buffer_bytes(&table->rows);

			bytes += table_bytes;
			/* Only rows of this subtransaction, in a file that still exists, can be written. */
			if (table_bytes > largest_bytes && table->dropped_by == InvalidSubTransactionId &&
				pfs_row_buffer_first_row(&table->rows, subxact) < table->rows.row_count)
			{
				largest = table;
				largest_bytes = table_bytes;
			}
		}
		/*
		 * The rows left may all belong to outer subtransactions, whose rows cannot be written yet.
		 */
		if (bytes <= (Size) write_buffer_kb * 1024 || largest == NULL)
			return;
		/* flush_table() may remove the entry, so the next round searches the hash table anew. */
		flush_table(largest);
	}
}

void
pfs_write_buffer_append(Relation relation, TupleTableSlot **slots, uint32 count,
						CommandId command_id)
{
	SubTransactionId subxact = GetCurrentSubTransactionId();
	Size bytes = 0;

	while (count > 0)
	{
		/* flush_table() removes an emptied buffer, so it is looked up again in each round. */
		PendingTable *table = get_table(relation);
		uint32 waiting = table->rows.row_count - pfs_row_buffer_first_row(&table->rows, subxact);
		uint32 taken = Min(count, PFS_BUFFER_MAX_ROWS - Min(waiting, PFS_BUFFER_MAX_ROWS));
		Size bytes_before = pfs_row_buffer_bytes(&table->rows);

		/* The buffer has PFS_BUFFER_MAX_ROWS rows of this subtransaction. */
		if (taken == 0)
		{
			flush_table(table);
			continue;
		}
		pfs_row_buffer_append(&table->rows, slots, taken, command_id, subxact);
		bytes += pfs_row_buffer_bytes(&table->rows) - bytes_before;
		slots += taken;
		count -= taken;
	}
	if (bytes > 0)
		limit_memory();
}

bool
pfs_write_buffer_has_rows(void)
{
	return pending_tables != NULL && hash_get_num_entries(pending_tables) > 0;
}

void
pfs_write_buffer_flush(Relation relation)
{
	int64 storage_id;
	HASH_SEQ_STATUS status;
	PendingTable *table;

	if (pending_tables == NULL)
		return;
	storage_id = pfs_storage_id(relation);
	hash_seq_init(&status, pending_tables);
	/* dynahash allows a scan to remove the entry that it has just returned. */
	while ((table = hash_seq_search(&status)) != NULL)
		if (is_waiting(table, storage_id))
			flush_table(table);
}

/*
 * The current subtransaction's own rows are removed at once: neither its commit nor its abort needs
 * them again.
 */
void
pfs_write_buffer_drop(int64 storage_id)
{
	SubTransactionId subxact = GetCurrentSubTransactionId();
	HASH_SEQ_STATUS status;
	PendingTable *table;

	if (pending_tables == NULL)
		return;
	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		uint32 first = pfs_row_buffer_first_row(&table->rows, subxact);

		if (!is_waiting(table, storage_id))
			continue;
		/*
		 * Rows of outer subtransactions are kept: they are needed again if this one, and with it
		 * the drop, is rolled back.
		 */
		if (first == 0)
			remove_table(table);
		else
		{
			pfs_row_buffer_truncate(&table->rows, first);
			table->dropped_by = subxact;
		}
	}
}

Size
pfs_write_buffer_image_bytes(int64 storage_id)
{
	HASH_SEQ_STATUS status;
	PendingTable *table;
	Size bytes = 0;

	if (pending_tables == NULL)
		return 0;
	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
		if (is_waiting(table, storage_id))
			bytes = add_size(bytes, pfs_row_image_bytes(&table->rows));
	return bytes;
}

void
pfs_write_buffer_image_make(int64 storage_id, void *images)
{
	HASH_SEQ_STATUS status;
	PendingTable *table;
	char *end = images;

	if (pending_tables == NULL)
		return;
	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
		if (is_waiting(table, storage_id))
		{
			pfs_row_image_make(&table->rows, (PfsRowImage *) end);
			end += ((PfsRowImage *) end)->bytes;
		}
}

void
pfs_write_buffer_flush_all(void)
{
	HASH_SEQ_STATUS status;
	PendingTable *table;

	if (pending_tables == NULL)
		return;
	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
		if (table->dropped_by == InvalidSubTransactionId)
			flush_table(table);
}

static void
buffers_on_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			/* Queries have ended, so all rows of a table can become one segment. */
			pfs_observers_clear();
			pfs_write_buffer_flush_all();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			/* TopTransactionContext frees the memory */
			pending_tables = NULL;
			pending_context = NULL;
			pfs_observers_clear();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

/* Like abort_subtransaction(), only changes existing entries and allocates nothing: cannot fail. */
static void
commit_subtransaction(SubTransactionId child, SubTransactionId parent)
{
	HASH_SEQ_STATUS status;
	PendingTable *table;

	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		/* The rows wait on, as rows of the parent. */
		pfs_row_buffer_reparent(&table->rows, child, parent);
		if (table->dropped_by == child)
			table->dropped_by = parent;
	}
}

/* Removes the rows that an aborted subtransaction has inserted. */
static void
abort_subtransaction(SubTransactionId child)
{
	HASH_SEQ_STATUS status;
	PendingTable *table;

	hash_seq_init(&status, pending_tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		uint32 first = pfs_row_buffer_first_row(&table->rows, child);

		if (table->dropped_by == child)
			/*
			 * The drop was rolled back, so the file exists again, with the rows of outer
			 * subtransactions.
			 */
			table->dropped_by = InvalidSubTransactionId;
		if (first == 0)
			remove_table(table);
		else
			pfs_row_buffer_truncate(&table->rows, first);
	}
}

static void
buffers_on_subtransaction(SubXactEvent event, SubTransactionId child, SubTransactionId parent,
						  void *arg)
{
	/* A subtransaction that ends before the first insert changes nothing. */
	if (pending_tables == NULL)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		commit_subtransaction(child, parent);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		abort_subtransaction(child);
}

void
pfs_write_buffer_init(void)
{
	DefineCustomIntVariable("profstore.write_buffer_size",
							"Memory for inserted rows that wait to be written, over all tables.",
							"When it is exceeded, the table with most waiting rows is written.",
							&write_buffer_kb, WRITE_BUFFER_DEFAULT_KB, WRITE_BUFFER_MIN_KB,
							WRITE_BUFFER_MAX_KB, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	pfs_summary_init();
	RegisterXactCallback(buffers_on_transaction, NULL);
	RegisterSubXactCallback(buffers_on_subtransaction, NULL);
}
