/*
 * segment_retention.h
 *		Removes whole segments from a table.
 *
 * They are deleted as heap rows are: earlier snapshots still see them, and VACUUM frees their
 * space. Neither writers nor readers wait.
 */
#ifndef PFS_SEGMENT_RETENTION_H
#define PFS_SEGMENT_RETENTION_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct PfsSegmentTotals
{
	uint32 segment_count;
	uint64 row_count;
	/*
	 * Range of column "time" over the segments that have the column. If no segment has it, time_min
	 * is greater than time_max.
	 */
	int64 time_min;
	int64 time_max;
} PfsSegmentTotals;

/* Returns totals of the segments that the snapshot sees, without rows that wait in memory. */
PfsSegmentTotals pfs_segment_totals(Relation relation, Snapshot snapshot);

/*
 * Removes the segments that the snapshot sees and that lie wholly before the time; all of them for
 * PG_INT64_MAX. The caller holds ShareUpdateExclusiveLock, taken before the snapshot, so that no
 * other session merges the segments meanwhile. Raises T_R_SERIALIZATION_FAILURE if a segment has
 * nevertheless been changed.
 */
PfsSegmentTotals pfs_remove_segments(Relation relation, Snapshot snapshot, int64 before);

/*
 * Like pfs_remove_segments(), but removes only one segment, given by its number, and reads only its
 * directory row. Returns totals of 0 if the snapshot sees no segment of that number.
 */
PfsSegmentTotals pfs_remove_segment(Relation relation, Snapshot snapshot, int64 segment_no);

/*
 * Returns true if no transaction, however old its snapshot, can see a segment of the table. If the
 * caller's lock excludes writers, such a table can be dropped without loss to any reader.
 */
bool pfs_is_vacated(Relation relation);

#endif
