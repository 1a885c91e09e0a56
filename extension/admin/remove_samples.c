/*
 * remove_samples.c
 *		remove_samples(): removes chosen rows from a table.
 *
 * A table that has such rows is rewritten into a new file, as by ALTER TABLE: the old file is
 * deleted at commit, and stays in place after a rollback. Sums and roll-ups are computed from the
 * remaining rows. Only the condition reads the rows' values, so references of the rows may be
 * broken.
 */
#include "profstore.h"

#include "access/multixact.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/cluster.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "admin/bounded_waits.h"
#include "admin/compact.h"
#include "admin/traces.h"
#include "base/distributed.h"
#include "base/version.h"
#include "store/compact/segment_retention.h"
#include "store/segment/storage.h"
#include "store/write/write_buffer.h"
#include "tableam/table_am.h"

PG_FUNCTION_INFO_V1(profstore_remove_samples);

#define FETCH_ROWS 1000

/*
 * Prepares the query, which must be exactly one SELECT. An error is raised for a condition that
 * ends the SELECT and begins another statement.
 */
static SPIPlanPtr
removal_prepare(const char *sql)
{
	SPIPlanPtr plan = SPI_prepare(sql, 0, NULL);

	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("condition must be one boolean expression")));
	return plan;
}

static char *
name_of(Oid relation_id)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation_id)),
									  get_rel_name(relation_id));
}

/*
 * Returns whether the condition is true for any row. The parentheses around the condition are on
 * lines of their own, because it may end in a comment.
 */
static bool
has_chosen_rows(Oid relation_id, const char *condition)
{
	SPIPlanPtr plan = removal_prepare(
		psprintf("SELECT FROM ONLY %s WHERE (\n%s\n)", name_of(relation_id), condition));

	if (SPI_execute_plan(plan, NULL, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not look for rows to remove");
	return SPI_processed > 0;
}

/*
 * Stores a row of the query in the slot. Its columns are the live columns of the table and a last
 * one that says whether the row is to be removed.
 */
static void
removal_store_row(TupleTableSlot *slot, HeapTuple row, TupleDesc columns)
{
	TupleDesc desc = slot->tts_tupleDescriptor;
	int number = 0;

	ExecClearTuple(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		slot->tts_isnull[i] = true;
		slot->tts_values[i] = (Datum) 0;
		/* The rows of the query lack the dropped columns. */
		if (!TupleDescAttr(desc, i)->attisdropped)
			slot->tts_values[i] = SPI_getbinval(row, columns, ++number, &slot->tts_isnull[i]);
	}
	ExecStoreVirtualTuple(slot);
}

/* Inserts those rows of one fetch that stay; returns the number of rows that are removed. */
static int64
keep_rows(Relation table, TupleTableSlot **slots, SPITupleTable *rows)
{
	int last = rows->tupdesc->natts;
	int kept = 0;

	for (uint64 i = 0; i < rows->numvals; i++)
	{
		bool is_null;

		/* IS TRUE never gives null. */
		if (!DatumGetBool(SPI_getbinval(rows->vals[i], rows->tupdesc, last, &is_null)))
			removal_store_row(slots[kept++], rows->vals[i], rows->tupdesc);
	}
	table_multi_insert(table, slots, kept, GetCurrentCommandId(true), TABLE_INSERT_SKIP_FSM, NULL);
	return (int64) rows->numvals - kept;
}

/* Copies the rows that stay to the new table; returns the number of rows that are removed. */
static int64
removal_copy_rows(Oid old_id, Relation table, const char *condition)
{
	SPIPlanPtr plan = removal_prepare(
		psprintf("SELECT *, (\n%s\n) IS TRUE FROM ONLY %s", condition, name_of(old_id)));
	Portal portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	TupleTableSlot *slots[FETCH_ROWS];
	int64 removed = 0;

	for (int i = 0; i < FETCH_ROWS; i++)
		slots[i] = table_slot_create(table, NULL);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, FETCH_ROWS);
		if (SPI_processed == 0)
			break;
		removed += keep_rows(table, slots, SPI_tuptable);
		/* The slots refer to memory that is freed next. */
		for (int i = 0; i < FETCH_ROWS; i++)
			ExecClearTuple(slots[i]);
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(portal);
	for (int i = 0; i < FETCH_ROWS; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
	table_finish_bulk_insert(table, TABLE_INSERT_SKIP_FSM);
	return removed;
}

/*
 * Contents of a table: its rows in segments, and the bytes of buffered rows of outer
 * subtransactions.
 */
typedef struct Contents
{
	uint64 row_count;
	Size waiting_bytes;
} Contents;

static Contents
contents_of(Relation relation)
{
	/* The snapshot includes what this command has changed. */
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	Contents contents = { pfs_segment_totals(relation, snapshot).row_count,
						  pfs_write_buffer_image_bytes(pfs_storage_id(relation)) };

	UnregisterSnapshot(snapshot);
	return contents;
}

/*
 * Raises an error if a function in the condition has inserted rows into the table, because these
 * would be lost with the old file.
 */
static void
check_unchanged(Relation relation, const Contents *before)
{
	Contents now;

	pfs_write_buffer_flush(relation);
	CommandCounterIncrement();
	now = contents_of(relation);
	if (now.row_count != before->row_count || now.waiting_bytes != before->waiting_bytes)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("the condition must not insert into table \"%s\"",
							   RelationGetRelationName(relation))));
}

/*
 * Rewrites the table without the chosen rows and swaps the files. Returns the number of removed
 * rows.
 */
static int64
removal_rewrite(Oid relation_id, const char *condition)
{
	Relation relation = table_open(relation_id, NoLock);
	char persistence = relation->rd_rel->relpersistence;
	Contents before;
	Oid new_id;
	Relation table;
	int64 removed;

	/* An open cursor of this session would read the old file. */
	CheckTableNotInUse(relation, "remove samples from");
	/* The query reads segments, so buffered rows must become segments. */
	pfs_write_buffer_flush(relation);
	CommandCounterIncrement();
	before = contents_of(relation);
	new_id = pfs_make_new_heap(relation, persistence);
	table = table_open(new_id, NoLock);
	removed = removal_copy_rows(relation_id, table, condition);
	check_unchanged(relation, &before);
	table_close(table, NoLock);
	table_close(relation, NoLock);
	finish_heap_swap(relation_id, new_id, false, false, false, true, RecentXmin,
					 ReadNextMultiXactId(), persistence);
	CommandCounterIncrement();
	return removed;
}

/*
 * Raises an error unless the caller owns the table according to the catalog. A table that no longer
 * exists passes.
 */
static void
table_check_owner(Oid relation_id)
{
	char *name = get_rel_name(relation_id);

	if (name != NULL && !pfs_relation_ownercheck(relation_id))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation_id)), name);
}

/*
 * Removes the chosen rows of one table and returns their number. Ownership is checked before any
 * lock is requested, so that nobody can block other sessions on a table of another owner.
 * ShareUpdateExclusiveLock keeps out compaction and another remove_samples(); readers and writers
 * are blocked only once a row to remove is found. Each lock is taken before the snapshot that reads
 * the table.
 */
static int64
remove_from(Oid relation_id, const char *condition, bool is_part, int64 *waited_us)
{
	Relation relation;
	bool is_ours;
	int64 removed;

	table_check_owner(relation_id);
	LockRelationOid(relation_id, ShareUpdateExclusiveLock);
	relation = try_relation_open(relation_id, NoLock);
	if (relation == NULL)
		return 0;
	/* The owner may have changed during the wait for the lock. */
	table_check_owner(relation_id);
	is_ours = pfs_is_profstore_table(relation);
	if (!is_ours || relation->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(is_part ? ERRCODE_FEATURE_NOT_SUPPORTED : ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of access method \"profstore\"",
						RelationGetRelationName(relation)),
				 is_part ? errhint("Detach the partition, or name the others one by one.") : 0));
	relation_close(relation, NoLock);
	pfs_require_local(relation_id, "remove samples from");
	/* Without such a row the table is neither locked exclusively nor rewritten. */
	if (!has_chosen_rows(relation_id, condition))
		return 0;
	pfs_lock_in_turns(relation_id, AccessExclusiveLock, waited_us);
	removed = removal_rewrite(relation_id, condition);
	(void) pfs_forget_traces(relation_id);
	return removed;
}

/* remove_samples(part regclass, condition text) -> int8, rows removed */
PGDLLEXPORT Datum
profstore_remove_samples(PG_FUNCTION_ARGS)
{
	Oid relation_id = PG_GETARG_OID(0);
	const char *condition = text_to_cstring(PG_GETARG_TEXT_PP(1));
	bool is_partitioned = get_rel_relkind(relation_id) == RELKIND_PARTITIONED_TABLE;
	List *tables = is_partitioned ? find_all_inheritors(relation_id, NoLock, NULL)
								  : list_make1_oid(relation_id);
	/*
	 * time spent waiting for the locks of all tables together, because each lock is held until the
	 * end
	 */
	int64 waited_us = 0;
	int64 removed = 0;
	ListCell *cell;

	pfs_extension_require_current();
	pfs_check_maintenance_transaction("profstore.remove_samples()");
	if (!OidIsValid(relation_id) || get_rel_name(relation_id) == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relation_id)));
	SPI_connect();
	foreach(cell, tables)
		if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			removed += remove_from(lfirst_oid(cell), condition, is_partitioned, &waited_us);
	SPI_finish();
	PG_RETURN_INT64(removed);
}
