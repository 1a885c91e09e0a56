/*
 * table_ddl.c
 *		Creates, truncates, copies, rewrites and drops the files of a table; implements VACUUM and
 *		the planner's size estimate.
 */
#include "tableam/table_am.h"

#include <math.h>

#include "access/detoast.h"
#include "access/multixact.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/storage.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/procarray.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "store/scan/rollup.h"
#include "store/segment/directory.h"
#include "store/segment/ledger.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"
#include "store/write/write_buffer.h"

/*
 * How long the planner uses counted totals, if the directory has many rows of the table. If there
 * are few rows, they are counted each time.
 */
#define ESTIMATE_LIFETIME_US  (10 * INT64CONST(1000000))
#define ESTIMATE_FEW_SEGMENTS 64

/*
 * Storage id that VACUUM FULL has given to a new file. When the old file is dropped, the rows of
 * this storage must not be deleted.
 */
static int64 moved_storage_id = 0;
static TransactionId moved_by_xid = InvalidTransactionId;

static void
drop_storage(int64 storage_id)
{
	/*
	 * Rows that wait in memory, directory rows, sums of rollups and the ledger: everything that has
	 * the storage id.
	 */
	pfs_write_buffer_drop(storage_id);
	pfs_directory_delete(storage_id);
	pfs_rollups_delete_all(storage_id);
	pfs_ledger_delete(storage_id);
}

/*
 * Creates a new file. TRUNCATE calls this while the relation's cache entry still has the old file,
 * so the rows of the old file are deleted here. In all other cases the old file is passed to
 * pfs_relation_dropped().
 */
void
pfs_relation_set_new_file(Relation relation, const RelFileLocator *locator, char persistence,
						  TransactionId *frozen_xid, MultiXactId *min_multi)
{
	if (persistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"profstore\" stores neither temporary nor unlogged tables"),
				 errhint("Create an ordinary table, or use access method heap.")));

	/* A new relation already has its new file in the cache entry. */
	if (relation->rd_locator.relNumber != locator->relNumber)
		drop_storage(pfs_storage_id(relation));
	pfs_storage_create(locator, persistence);

	/*
	 * the main fork contains no transaction id; the directory and the TOAST relation have horizons
	 * of their own
	 */
	*frozen_xid = InvalidTransactionId;
	*min_multi = InvalidMultiXactId;
}

/*
 * Empties a table without a new file. If the current subtransaction created the file, an abort
 * removes it, but not always its rows: SET TABLESPACE creates a file and moves an existing storage
 * into it.
 */
void
pfs_relation_nontransactional_truncate(Relation relation)
{
	drop_storage(pfs_storage_id(relation));
	pfs_storage_renew(relation);
}

void
pfs_relation_dropped(Relation relation)
{
	int64 storage_id = pfs_storage_id_if_readable(relation);

	/* Without a readable metapage there is no storage id, and so there are no rows. */
	if (storage_id == 0)
		return;
	/* VACUUM FULL has given the storage id to the new file, see pfs_relation_copy_for_cluster(). */
	if (storage_id == moved_storage_id && moved_by_xid == GetTopTransactionIdIfAny())
	{
		moved_storage_id = 0;
		return;
	}
	drop_storage(storage_id);
}

/*
 * Implements ALTER TABLE SET TABLESPACE. The metapage is copied with its storage id. Core moves the
 * TOAST relation.
 */
void
pfs_relation_copy_data(Relation relation, const RelFileLocator *locator)
{
	SMgrRelation target;

	/* Pages are copied from disk, so dirty buffers are written first. */
	FlushRelationBuffers(relation);
	target = pfs_create_storage(*locator, relation->rd_rel->relpersistence);
	RelationCopyStorage(pfs_relation_smgr(relation), target, MAIN_FORKNUM,
						relation->rd_rel->relpersistence);
	RelationDropStorage(relation);
	smgrclose(target);
}

/* Copies a segment's streams into the new table's TOAST relation, under the same value ids. */
static void
copy_streams(Relation old_table, Relation new_table, const PfsSegmentRow *row)
{
	PfsSegmentInput *input = pfs_segment_open(old_table, row);

	for (uint32 i = 0; i < row->stream_count; i++)
	{
		struct varlena *pointer;
		struct varlena *value;

		/* A stream without a value has no id. */
		if (!OidIsValid(row->stream_ids[i]))
			continue;
		/* The value is copied in compressed form, without decoding. */
		pointer = pfs_segment_stream_pointer(input, i);
		value = detoast_external_attr(pointer);
		/* The old pointer makes toast_save_datum() keep the value id, which directory rows name. */
		toast_save_datum(new_table, PointerGetDatum(value), pointer, 0);
		pfree(value);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Collects the streams of all segments that the snapshot sees. */
static HTAB *
visible_streams(int64 storage_id, Snapshot snapshot)
{
	HASHCTL control = { .keysize = sizeof(Oid),
						.entrysize = sizeof(Oid),
						.hcxt = CurrentMemoryContext };
	HTAB *streams =
		hash_create("profstore streams", 1024, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	PfsDirectoryScan *scan = pfs_directory_scan_begin(storage_id, snapshot);
	PfsSegmentRow row;

	/* Ids are unique in the table's TOAST relation, so they are keys. */
	while (pfs_directory_scan_next(scan, &row))
		for (uint32 i = 0; i < row.stream_count; i++)
			(void) hash_search(streams, &row.stream_ids[i], HASH_ENTER, NULL);
	pfs_directory_scan_end(scan);
	return streams;
}

/*
 * Removes from the copy of a row those streams that other rows name, too: the old row of a moved
 * segment shares streams with the new one. Records the remaining streams; returns false if none
 * remain.
 */
static bool
strike_named(HTAB *named, PfsSegmentRow *row)
{
	Oid *ids = unconstify(Oid *, row->stream_ids);
	bool any_left = false;

	for (uint32 i = 0; i < row->stream_count; i++)
	{
		bool found = true;

		/* HASH_ENTER records the stream, so a second row with it finds it named. */
		if (OidIsValid(ids[i]))
			(void) hash_search(named, &ids[i], HASH_ENTER, &found);
		if (found)
			ids[i] = InvalidOid;
		any_left |= !found;
	}
	return any_left;
}

/* Directory rows kept for later. */
typedef struct KeptRows
{
	uint32 count;
	uint32 capacity;
	PfsSegmentRow *rows;
} KeptRows;

static void
keep_row(KeptRows *kept, const PfsSegmentRow *row)
{
	PFS_RESERVE(kept->rows, kept->capacity, kept->count + 1);
	pfs_segment_row_copy(&kept->rows[kept->count++], row);
}

/*
 * Deletes copied streams of deleted segments that only older snapshots still see. VACUUM removes
 * them when those snapshots have ended, as it would have removed the originals; otherwise nobody
 * would delete them.
 */
static void
storage_delete_streams(Relation table, const KeptRows *deleted)
{
	if (deleted->count == 0)
		return;
	/* The copies were written by this command, and can be found only after the increment. */
	CommandCounterIncrement();
	for (uint32 i = 0; i < deleted->count; i++)
		pfs_segment_delete_streams(table, &deleted->rows[i]);
}

/*
 * Implements VACUUM FULL. Older snapshots must still see their rows. So directory rows do not
 * change, and the new file gets the old storage id. Only streams in the table's TOAST relation are
 * copied, those of every segment that any snapshot may still see. The cutoffs are not changed,
 * because core sets them for the new TOAST relation, too.
 */
void
pfs_relation_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index,
							  bool use_sort, TransactionId oldest_xmin, TransactionId *xid_cutoff,
							  MultiXactId *multi_cutoff, double *row_count, double *vacuumed_count,
							  double *recently_dead_count)
{
	int64 storage_id = pfs_storage_id(old_table);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore rewrite", ALLOCSET_DEFAULT_SIZES);
	/* The latest snapshot sees rows of all transactions that have committed. */
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	HTAB *named = visible_streams(storage_id, snapshot);
	KeptRows deleted = { 0 };
	MemoryContext outer;
	PfsDirectoryScan *scan;
	PfsSegmentRow row;

	if (old_index != NULL)
		elog(ERROR, "table \"%s\" cannot have an index", RelationGetRelationName(old_table));

	*row_count = *vacuumed_count = *recently_dead_count = 0;
	/* Rows that some snapshot may still see, deleted ones included. */
	scan = pfs_directory_scan_begin_nonvacuumable(storage_id);
	while (pfs_directory_scan_next(scan, &row))
	{
		outer = MemoryContextSwitchTo(context);
		if (row.stream_ids != NULL)
		{
			/* The scan reuses the memory of a row, so a copy is kept. */
			PfsSegmentRow copy;

			pfs_segment_row_copy(&copy, &row);
			copy_streams(old_table, new_table, &copy);
			/* Rows that are kept must outlive the context, which is reset for each row. */
			MemoryContextSwitchTo(outer);
			if (strike_named(named, &copy))
				keep_row(&deleted, &copy);
		}
		*row_count += row.row_count;
		MemoryContextSwitchTo(outer);
		MemoryContextReset(context);
	}
	pfs_directory_scan_end(scan);
	MemoryContextDelete(context);
	UnregisterSnapshot(snapshot);
	storage_delete_streams(new_table, &deleted);
	hash_destroy(named);

	pfs_storage_take_over(old_table, new_table);
	moved_storage_id = storage_id;
	/* If the transaction aborts, the mark stays, but its transaction id matches no other. */
	moved_by_xid = GetTopTransactionId();
}

static BlockNumber
pages_of_bytes(double byte_count)
{
	double pages = ceil(byte_count / BLCKSZ);

	/* A relation has at least one page, and page numbers have 32 bits. */
	return (BlockNumber) Max(1.0, Min(pages, (double) MaxBlockNumber));
}

/*
 * Implements VACUUM, which only counts rows: core vacuums the TOAST relation and the directory. No
 * rows may be written here, because other snapshots ignore the transaction id of a VACUUM. A
 * rewrite sets relfrozenxid although none of our pages has a transaction id, so it is advanced
 * here.
 */
void
pfs_relation_vacuum(Relation relation, struct VacuumParams *params, BufferAccessStrategy strategy)
{
	TransactionId frozen_xid = InvalidTransactionId;
	MultiXactId min_multi = InvalidMultiXactId;
	PfsDirectoryTotals totals;

	totals = pfs_directory_totals(pfs_storage_id(relation), GetActiveSnapshot());
	if (TransactionIdIsNormal(relation->rd_rel->relfrozenxid))
		frozen_xid = GetOldestNonRemovableTransactionId(relation);
	if (MultiXactIdIsValid(relation->rd_rel->relminmxid))
		min_multi = GetOldestMultiXactId();
	pfs_update_relstats(relation, pages_of_bytes(totals.byte_count), totals.row_count, frozen_xid,
						min_multi);
	pfs_report_vacuum(RelationGetRelid(relation), relation->rd_rel->relisshared,
					  (PgStat_Counter) totals.row_count, GetCurrentTimestamp());
}

/* Returns approximately how many rows of this transaction wait in memory. */
static double
waiting_rows(Relation relation, int64 storage_id)
{
	/* Rows wait as arrays of values and null flags. */
	double value_bytes = sizeof(int64) + sizeof(bool);

	return floor((double) pfs_write_buffer_image_bytes(storage_id) /
				 (value_bytes * Max(RelationGetNumberOfAttributes(relation), 1)));
}

/*
 * Estimates the size for the planner. pages is computed from the encoded bytes, wherever they lie,
 * because a scan reads these.
 */
void
pfs_relation_estimate_size(Relation relation, int32 *attr_widths, BlockNumber *pages,
						   double *row_count, double *all_visible_share)
{
	PfsStorageCache *cache = pfs_storage_cache(relation);
	TimestampTz now = GetCurrentTimestamp();

	/* Without an active snapshot, as in some utility commands, the last counts are used. */
	if (ActiveSnapshotSet() &&
		(cache->counted_at_us == 0 || cache->segment_count < ESTIMATE_FEW_SEGMENTS ||
		 now - cache->counted_at_us > ESTIMATE_LIFETIME_US))
	{
		int64 storage_id = cache->storage_id;
		PfsDirectoryTotals totals = pfs_directory_totals(storage_id, GetActiveSnapshot());

		/* reading the directory may have rebuilt the cache entry */
		cache = pfs_storage_cache(relation);
		cache->segment_count = totals.segment_count;
		cache->row_count = totals.row_count;
		cache->byte_count = totals.byte_count;
		cache->counted_at_us = now;
	}
	*pages = pages_of_bytes(cache->byte_count);
	*row_count = cache->row_count + waiting_rows(relation, cache->storage_id);
	*all_visible_share = 0;
}
