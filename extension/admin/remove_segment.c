/*
 * remove_segment.c
 *		remove_segment(): removes one segment from a table.
 *
 * It is meant for a damaged segment, which makes every query that reads its rows fail. The removal
 * reads only the segment's row in the directory.
 */
#include "profstore.h"

#include "access/relation.h"
#include "access/table.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "admin/bounded_waits.h"
#include "admin/compact.h"
#include "admin/traces.h"
#include "base/attempt.h"
#include "base/distributed.h"
#include "base/version.h"
#include "store/compact/segment_retention.h"
#include "store/segment/directory.h"
#include "tableam/table_am.h"

PG_FUNCTION_INFO_V1(profstore_remove_segment);

/*
 * Deletes the rows of traces that have lost their samples. This reads the table, so it may fail if
 * another segment is damaged, too.
 */
static void
forget_traces(void *relation_id)
{
	SPI_connect();
	(void) pfs_forget_traces(*(const Oid *) relation_id);
	SPI_finish();
}

/*
 * Removes the segment and returns its totals. The lock on the table excludes compaction and
 * retention; the lock on the directory keeps VACUUM FULL from moving the rows between their reading
 * and deletion. Both are taken before the snapshot.
 */
static PfsSegmentTotals
remove_segment(Oid relation_id, int64 segment_no)
{
	int level = pfs_bounded_waits_begin();
	Relation relation = table_open(relation_id, ShareUpdateExclusiveLock);
	PfsSegmentTotals removed;

	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is a partitioned table, which has no segments of its own",
							   RelationGetRelationName(relation)),
						errhint("Pass the partition, which profstore.verify() names.")));
	pfs_require_local(relation_id, "remove a segment from");
	if (!pfs_directory_try_lock())
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						errmsg("could not lock the segments' directory"),
						errhint("Try again when VACUUM FULL of profstore.segments has ended.")));
	/* The latest snapshot includes segments that were committed during the wait for the locks. */
	PushActiveSnapshot(GetLatestSnapshot());
	removed = pfs_remove_segment(relation, GetActiveSnapshot(), segment_no);
	PopActiveSnapshot();
	if (removed.segment_count == 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("table \"%s\" has no segment %lld",
							   RelationGetRelationName(relation), (long long) segment_no),
						errhint("The view profstore.segment_details lists segments. Compaction "
								"replaces the segments that it merges by new ones.")));
	table_close(relation, NoLock);
	pfs_bounded_waits_end(level);
	return removed;
}

/* remove_segment(rel regclass, segment int8) -> int8, rows removed */
PGDLLEXPORT Datum
profstore_remove_segment(PG_FUNCTION_ARGS)
{
	Oid relation_id = PG_GETARG_OID(0);
	PfsSegmentTotals removed;

	pfs_extension_require_current();
	pfs_check_maintenance_transaction("profstore.remove_segment()");
	pfs_check_compactable(relation_id);
	removed = remove_segment(relation_id, PG_GETARG_INT64(1));
	/* The segment is removed even if this fails. */
	(void) pfs_attempt(forget_traces, &relation_id, "rows of trace_samples were kept");
	PG_RETURN_INT64((int64) removed.row_count);
}
