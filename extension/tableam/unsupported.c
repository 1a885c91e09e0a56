/*
 * unsupported.c
 *		Raises one clear error for each operation that the access method does not support.
 */
#include "tableam/table_am.h"

#include "utils/rel.h"

void
pfs_unsupported(Relation relation, const char *operation, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported on table \"%s\", which uses access method \"profstore\"",
					operation, RelationGetRelationName(relation)),
			 errhint("%s", hint)));
}

pg_noreturn static void no_index(Relation relation);

static void
no_index(Relation relation)
{
	pfs_unsupported(
		relation, "an index or unique constraint",
		"Segments are pruned by time and series_id without an index; keep data that needs "
		"other keys in a heap table.");
}

pg_noreturn static void no_row_address(Relation relation);

static void
no_row_address(Relation relation)
{
	pfs_unsupported(relation, "fetching a row by its address",
					"Rows have no fixed address: select them by their columns.");
}

struct IndexFetchTableData *
pfs_index_fetch_begin(Relation relation)
{
	no_index(relation);
}

void
pfs_index_fetch_reset(struct IndexFetchTableData *data)
{
	no_index(data->rel);
}

void
pfs_index_fetch_end(struct IndexFetchTableData *data)
{
	no_index(data->rel);
}

bool
pfs_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot,
					  TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	no_index(scan->rel);
}

TransactionId
pfs_index_delete_tuples(Relation relation, TM_IndexDeleteOp *delstate)
{
	no_index(relation);
}

double
pfs_index_build_range_scan(Relation relation, Relation index, struct IndexInfo *index_info,
						   bool allow_sync, bool any_visible, bool progress,
						   BlockNumber start_block, BlockNumber block_count,
						   IndexBuildCallback callback, void *callback_state, TableScanDesc scan)
{
	no_index(relation);
}

void
pfs_index_validate_scan(Relation relation, Relation index, struct IndexInfo *index_info,
						Snapshot snapshot, struct ValidateIndexState *state)
{
	no_index(relation);
}

bool
pfs_tuple_fetch_row_version(Relation relation, ItemPointer tid, Snapshot snapshot,
							TupleTableSlot *slot)
{
	no_row_address(relation);
}

bool
pfs_tuple_tid_valid(TableScanDesc scan, ItemPointer tid)
{
	no_row_address(scan->rs_rd);
}

void
pfs_tuple_get_latest_tid(TableScanDesc scan, ItemPointer tid)
{
	no_row_address(scan->rs_rd);
}

bool
pfs_tuple_satisfies_snapshot(Relation relation, TupleTableSlot *slot, Snapshot snapshot)
{
	no_row_address(relation);
}

void
pfs_tuple_insert_speculative(Relation relation, TupleTableSlot *slot, CommandId command_id,
							 int options, struct BulkInsertStateData *bistate, uint32 token)
{
	no_index(relation);
}

void
pfs_tuple_complete_speculative(Relation relation, TupleTableSlot *slot, uint32 token,
							   bool succeeded)
{
	no_index(relation);
}

TM_Result
pfs_tuple_delete(Relation relation, ItemPointer tid, CommandId command_id, Snapshot snapshot,
				 Snapshot crosscheck, bool wait, TM_FailureData *failure, bool changing_partition)
{
	pfs_unsupported(relation, "DELETE", PFS_APPEND_ONLY_HINT);
}

TM_Result
pfs_tuple_update(Relation relation, ItemPointer tid, TupleTableSlot *slot, CommandId command_id,
				 Snapshot snapshot, Snapshot crosscheck, bool wait, TM_FailureData *failure,
				 LockTupleMode *lock_mode, PFS_UPDATE_INDEXES *update_indexes)
{
	pfs_unsupported(relation, "UPDATE", PFS_APPEND_ONLY_HINT);
}

TM_Result
pfs_tuple_lock(Relation relation, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
			   CommandId command_id, LockTupleMode mode, LockWaitPolicy wait_policy, uint8 flags,
			   TM_FailureData *failure)
{
	pfs_unsupported(relation, "locking a row",
					"Rows never change, so plain SELECT is enough; LOCK TABLE keeps writers out.");
}

bool
pfs_scan_sample_next_block(TableScanDesc scan, struct SampleScanState *state)
{
	pfs_unsupported(scan->rs_rd, "TABLESAMPLE", "Use WHERE random() < fraction.");
}

bool
pfs_scan_sample_next_tuple(TableScanDesc scan, struct SampleScanState *state, TupleTableSlot *slot)
{
	pfs_unsupported(scan->rs_rd, "TABLESAMPLE", "Use WHERE random() < fraction.");
}
