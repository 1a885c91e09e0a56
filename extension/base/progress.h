/*
 * progress.h
 *		What a session is doing to a table's segments, for others to see.
 *
 * It goes where VACUUM and its like report theirs: into the session's entry of shared memory that
 * the server has for every process, under a command number of our own, which the server's views do
 * not look for. So nothing needs to be preloaded. Nothing is reported where track_activities is
 * off, and where the session already reports something else, as in COPY (SELECT
 * profstore.compact()). An error ends the report.
 */
#ifndef PFS_PROGRESS_H
#define PFS_PROGRESS_H

#include "profstore.h"

#define PFS_PROGRESS_COMMAND 0x50465331

typedef enum PfsProgressParam
{
	PFS_PROGRESS_PHASE,
	PFS_PROGRESS_SEGMENTS_TOTAL, /* of the merge in progress; so the others */
	PFS_PROGRESS_SEGMENTS_DONE,
	PFS_PROGRESS_ROWS_TOTAL,
	PFS_PROGRESS_ROWS_DONE,
	PFS_PROGRESS_BYTES_TOTAL,
	PFS_PROGRESS_BYTES_WRITTEN,
	PFS_PROGRESS_TIME_MIN, /* of the rows that are read; PG_INT64_MIN: not a timestamptz */
	PFS_PROGRESS_TIME_MAX,
	/*
	 * of the table, since the beginning; into 9 to 16 the server writes where a table gets an
	 * index, as its TOAST does
	 */
	PFS_PROGRESS_MERGES_DONE = 17
} PfsProgressParam;

typedef enum PfsProgressPhase
{
	PFS_PHASE_PLANNING,
	PFS_PHASE_MERGING,
	PFS_PHASE_SUMMING,
	PFS_PHASE_REMOVING,
	PFS_PHASE_MOVING
} PfsProgressPhase;

void pfs_progress_begin(Oid relation_id);
void pfs_progress_set(PfsProgressParam param, int64 value);
void pfs_progress_add(PfsProgressParam param, int64 value);
void pfs_progress_end(void);

#endif
