/*
 * table_am.h
 *		Callbacks of the access method, by file; table_am.c collects them.
 */
#ifndef PFS_TABLE_AM_H
#define PFS_TABLE_AM_H

#include "profstore.h"

#include "access/tableam.h"

/* table_scan.c */
TableScanDesc pfs_scan_begin(Relation relation, Snapshot snapshot, int key_count,
							 struct ScanKeyData *keys, ParallelTableScanDesc parallel,
							 uint32 flags);
void pfs_scan_end(TableScanDesc scan);
void pfs_scan_rescan(TableScanDesc scan, struct ScanKeyData *keys, bool set_params,
					 bool allow_strat, bool allow_sync, bool allow_pagemode);
bool pfs_scan_getnextslot(TableScanDesc scan, ScanDirection direction, TupleTableSlot *slot);
Size pfs_parallelscan_estimate(Relation relation);
Size pfs_parallelscan_initialize(Relation relation, ParallelTableScanDesc parallel);
void pfs_parallelscan_reinitialize(Relation relation, ParallelTableScanDesc parallel);
bool pfs_scan_analyze_next_block(TableScanDesc scan, PFS_ANALYZE_BLOCK_PARAMS);
bool pfs_scan_analyze_next_tuple(TableScanDesc scan, TransactionId oldest_xmin, double *live_rows,
								 double *dead_rows, TupleTableSlot *slot);

/* table_ddl.c */
void pfs_relation_set_new_file(Relation relation, const RelFileLocator *locator, char persistence,
							   TransactionId *frozen_xid, MultiXactId *min_multi);
void pfs_relation_nontransactional_truncate(Relation relation);
void pfs_relation_copy_data(Relation relation, const RelFileLocator *locator);
void pfs_relation_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index,
								   bool use_sort, TransactionId oldest_xmin,
								   TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
								   double *row_count, double *vacuumed_count,
								   double *recently_dead_count);
void pfs_relation_vacuum(Relation relation, struct VacuumParams *params,
						 BufferAccessStrategy strategy);
void pfs_relation_estimate_size(Relation relation, int32 *attr_widths, BlockNumber *pages,
								double *row_count, double *all_visible_share);

/* Deletes the directory rows of a table that is about to be dropped. */
void pfs_relation_dropped(Relation relation);

/* unsupported.c: raises FEATURE_NOT_SUPPORTED for an operation, with a hint. */
pg_noreturn void pfs_unsupported(Relation relation, const char *operation, const char *hint);

#define PFS_APPEND_ONLY_HINT                                                                     \
	"Rows leave by partition: drop or detach one, or TRUNCATE the table. To change rows, write " \
	"them into a new table."

/* Callbacks that only raise the error of pfs_unsupported(). */
struct IndexFetchTableData *pfs_index_fetch_begin(Relation relation);
void pfs_index_fetch_reset(struct IndexFetchTableData *data);
void pfs_index_fetch_end(struct IndexFetchTableData *data);
bool pfs_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot,
						   TupleTableSlot *slot, bool *call_again, bool *all_dead);
TransactionId pfs_index_delete_tuples(Relation relation, TM_IndexDeleteOp *delstate);
double pfs_index_build_range_scan(Relation relation, Relation index, struct IndexInfo *index_info,
								  bool allow_sync, bool any_visible, bool progress,
								  BlockNumber start_block, BlockNumber block_count,
								  IndexBuildCallback callback, void *callback_state,
								  TableScanDesc scan);
void pfs_index_validate_scan(Relation relation, Relation index, struct IndexInfo *index_info,
							 Snapshot snapshot, struct ValidateIndexState *state);
bool pfs_tuple_fetch_row_version(Relation relation, ItemPointer tid, Snapshot snapshot,
								 TupleTableSlot *slot);
bool pfs_tuple_tid_valid(TableScanDesc scan, ItemPointer tid);
void pfs_tuple_get_latest_tid(TableScanDesc scan, ItemPointer tid);
bool pfs_tuple_satisfies_snapshot(Relation relation, TupleTableSlot *slot, Snapshot snapshot);
void pfs_tuple_insert_speculative(Relation relation, TupleTableSlot *slot, CommandId command_id,
								  int options, struct BulkInsertStateData *bistate, uint32 token);
void pfs_tuple_complete_speculative(Relation relation, TupleTableSlot *slot, uint32 token,
									bool succeeded);
TM_Result pfs_tuple_delete(Relation relation, ItemPointer tid, CommandId command_id,
						   Snapshot snapshot, Snapshot crosscheck, bool wait,
						   TM_FailureData *failure, bool changing_partition);
TM_Result pfs_tuple_update(Relation relation, ItemPointer tid, TupleTableSlot *slot,
						   CommandId command_id, Snapshot snapshot, Snapshot crosscheck, bool wait,
						   TM_FailureData *failure, LockTupleMode *lock_mode,
						   PFS_UPDATE_INDEXES *update_indexes);
TM_Result pfs_tuple_lock(Relation relation, ItemPointer tid, Snapshot snapshot,
						 TupleTableSlot *slot, CommandId command_id, LockTupleMode mode,
						 LockWaitPolicy wait_policy, uint8 flags, TM_FailureData *failure);
bool pfs_scan_sample_next_block(TableScanDesc scan, struct SampleScanState *state);
bool pfs_scan_sample_next_tuple(TableScanDesc scan, struct SampleScanState *state,
								TupleTableSlot *slot);

/* table_am.c: returns true if a relation uses the access method. */
bool pfs_is_profstore_table(Relation relation);
void pfs_table_am_init(void);

#endif
