/*
 * progress.h
 *		Progress of a session's work on a table's segments, visible to other sessions.
 *
 * It is reported like the progress of VACUUM and similar commands: in the session's entry in the
 * shared memory that the server has for every process, under a command number of our own, which the
 * server's views ignore. So nothing has to be preloaded. Nothing is reported if track_activities is
 * off, or if the session already reports something else, as in COPY (SELECT profstore.compact()).
 * An error ends the report.
 */
#ifndef PFS_PROGRESS_H
#define PFS_PROGRESS_H

#include "profstore.h"

#define PFS_PROGRESS_COMMAND 0x50465331

typedef enum PfsProgressParam
{
	PFS_PROGRESS_PHASE,
	PFS_PROGRESS_SEGMENTS_TOTAL, /* this and the following ones describe the current merge */
	PFS_PROGRESS_SEGMENTS_DONE,
	PFS_PROGRESS_ROWS_TOTAL,
	PFS_PROGRESS_ROWS_DONE,
	PFS_PROGRESS_BYTES_TOTAL,
	PFS_PROGRESS_BYTES_WRITTEN,
	PFS_PROGRESS_TIME_MIN, /* least time of the rows being read; PG_INT64_MIN: not a timestamptz */
	PFS_PROGRESS_TIME_MAX,
	/*
	 * Totals of the table since its compaction began. The numbers start at 17, because the server
	 * itself writes to 9 .. 16 when a table, or its TOAST relation, gets an index.
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
