/*
 * table_am.c
 *		The table access method "profstore": its routine, inserts, and the small callbacks.
 */
#include "tableam/table_am.h"

#include "access/heaptoast.h"
#include "catalog/pg_am.h"
#include "fmgr.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "dictionary/intern/bound_writer.h"
#include "store/write/write_buffer.h"

PGDLLEXPORT Datum profstore_table_am_handler(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(profstore_table_am_handler);

/*
 * Operations of virtual slots, except that a heap tuple formed from a slot keeps the row's
 * position, by which ANALYZE sorts.
 */
static TupleTableSlotOps slot_ops;

static HeapTuple
copy_heap_tuple(TupleTableSlot *slot)
{
	HeapTuple tuple = TTSOpsVirtual.copy_heap_tuple(slot);

	tuple->t_self = slot->tts_tid;
	tuple->t_tableOid = slot->tts_tableOid;
	return tuple;
}

static const TupleTableSlotOps *
slot_callbacks(Relation relation)
{
	return &slot_ops;
}

/*
 * Gives an inserted row a valid item pointer, because RETURNING ctid and the transition tables of
 * AFTER STATEMENT triggers need one. Rows have no address.
 */
static void
mark_inserted(Relation relation, TupleTableSlot *slot)
{
	slot->tts_tableOid = RelationGetRelid(relation);
	ItemPointerSet(&slot->tts_tid, 0, FirstOffsetNumber);
}

static void
multi_insert(Relation relation, TupleTableSlot **slots, int slot_count, CommandId command_id,
			 int options, struct BulkInsertStateData *bistate)
{
	if (slot_count <= 0)
		return;
	CheckForSerializableConflictIn(relation, NULL, InvalidBlockNumber);
	pfs_proven_require_rows(relation, slots, (uint32) slot_count);
	pfs_write_buffer_append(relation, slots, (uint32) slot_count, command_id);
	for (int i = 0; i < slot_count; i++)
		mark_inserted(relation, slots[i]);
	pgstat_count_heap_insert(relation, slot_count);
}

static void
tuple_insert(Relation relation, TupleTableSlot *slot, CommandId command_id, int options,
			 struct BulkInsertStateData *bistate)
{
	multi_insert(relation, &slot, 1, command_id, options, bistate);
}

/*
 * Writes the rows of a bulk load into a file of this transaction, because the file may be swapped
 * next (ALTER TABLE that rewrites, REFRESH MATERIALIZED VIEW). The rows of a COPY into an older
 * table stay in memory: COPY ends its inserts once per partition and batch, so writing them here
 * would make many small segments.
 */
static void
finish_bulk_insert(Relation relation, int options)
{
	if (options & TABLE_INSERT_SKIP_FSM)
		pfs_write_buffer_flush(relation);
}

static bool
relation_needs_toast_table(Relation relation)
{
	return true;
}

static Oid
relation_toast_am(Relation relation)
{
	return HEAP_TABLE_AM_OID;
}

static const TableAmRoutine pfs_table_am_routine = {
	.type = T_TableAmRoutine,

	.slot_callbacks = slot_callbacks,

	.scan_begin = pfs_scan_begin,
	.scan_end = pfs_scan_end,
	.scan_rescan = pfs_scan_rescan,
	.scan_getnextslot = pfs_scan_getnextslot,
	.parallelscan_estimate = pfs_parallelscan_estimate,
	.parallelscan_initialize = pfs_parallelscan_initialize,
	.parallelscan_reinitialize = pfs_parallelscan_reinitialize,
	.scan_analyze_next_block = pfs_scan_analyze_next_block,
	.scan_analyze_next_tuple = pfs_scan_analyze_next_tuple,

	.tuple_insert = tuple_insert,
	.multi_insert = multi_insert,
	.finish_bulk_insert = finish_bulk_insert,

	.relation_set_new_filelocator = pfs_relation_set_new_file,
	.relation_nontransactional_truncate = pfs_relation_nontransactional_truncate,
	.relation_copy_data = pfs_relation_copy_data,
	.relation_copy_for_cluster = pfs_relation_copy_for_cluster,
	.relation_vacuum = pfs_relation_vacuum,
	.relation_size = table_block_relation_size,
	.relation_estimate_size = pfs_relation_estimate_size,
	.relation_needs_toast_table = relation_needs_toast_table,
	.relation_toast_am = relation_toast_am,
	.relation_fetch_toast_slice = heap_fetch_toast_slice,

	.index_fetch_begin = pfs_index_fetch_begin,
	.index_fetch_reset = pfs_index_fetch_reset,
	.index_fetch_end = pfs_index_fetch_end,
	.index_fetch_tuple = pfs_index_fetch_tuple,
	.index_delete_tuples = pfs_index_delete_tuples,
	.index_build_range_scan = pfs_index_build_range_scan,
	.index_validate_scan = pfs_index_validate_scan,
	.tuple_fetch_row_version = pfs_tuple_fetch_row_version,
	.tuple_tid_valid = pfs_tuple_tid_valid,
	.tuple_get_latest_tid = pfs_tuple_get_latest_tid,
	.tuple_satisfies_snapshot = pfs_tuple_satisfies_snapshot,
	.tuple_insert_speculative = pfs_tuple_insert_speculative,
	.tuple_complete_speculative = pfs_tuple_complete_speculative,
	.tuple_delete = pfs_tuple_delete,
	.tuple_update = pfs_tuple_update,
	.tuple_lock = pfs_tuple_lock,
	.scan_sample_next_block = pfs_scan_sample_next_block,
	.scan_sample_next_tuple = pfs_scan_sample_next_tuple,
};

bool
pfs_is_profstore_table(Relation relation)
{
	return relation->rd_tableam == &pfs_table_am_routine;
}

void
pfs_table_am_init(void)
{
	slot_ops = TTSOpsVirtual;
	slot_ops.copy_heap_tuple = copy_heap_tuple;
}

Datum
profstore_table_am_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&pfs_table_am_routine);
}
