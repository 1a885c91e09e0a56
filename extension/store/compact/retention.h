/*
 * retention.h
 *		Taking whole segments out of a table.
 *
 * They go as heap rows do: snapshots from before go on seeing them, and VACUUM makes use of the
 * space. Neither writers nor readers wait.
 */
#ifndef PFS_RETENTION_H
#define PFS_RETENTION_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct PfsSegmentTotals
{
	uint32 segment_count;
	uint64 row_count;
	int64 time_min; /* of the column "time", where one of the segments has it; else the least … */
	int64 time_max; /* … is greater than the greatest */
} PfsSegmentTotals;

/* What the snapshot sees of a table; rows that wait in memory are no segments yet. */
PfsSegmentTotals pfs_segment_totals(Relation relation, Snapshot snapshot);

/*
 * Removes the segments that the snapshot sees and that lie wholly before the time (PG_INT64_MAX:
 * all of them). The caller holds ShareUpdateExclusiveLock, taken before the snapshot, so that
 * nobody merges them meanwhile; raises T_R_SERIALIZATION_FAILURE where somebody has changed one all
 * the same.
 */
PfsSegmentTotals pfs_remove_segments(Relation relation, Snapshot snapshot, int64 before);

/*
 * Like pfs_remove_segments(), but removes the segment of that number alone, of which nothing is
 * read but its row in the directory. No segment: the snapshot sees none of that number.
 */
PfsSegmentTotals pfs_remove_segment(Relation relation, Snapshot snapshot, int64 segment_no);

/*
 * Whether no transaction, however old its snapshot, can see a segment of the table. With a lock
 * that keeps writers out, such a table can be dropped without anybody's missing its rows.
 */
bool pfs_is_vacated(Relation relation);

#endif
