/*
 * segment_retention.c
 *		Lists and removes segments, and tests whether any snapshot can still see one.
 */
#include "store/compact/segment_retention.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/attempt.h"
#include "base/progress.h"
#include "store/scan/rollup.h"
#include "store/segment/directory.h"
#include "store/segment/ledger.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"
#include "store/write/write_buffer.h"

static void
add_to_totals(PfsSegmentTotals *totals, const PfsSegmentRow *row)
{
	totals->segment_count++;
	totals->row_count += (uint64) row->row_count;
	if (row->time.known)
	{
		totals->time_min = Min(totals->time_min, row->time.min);
		totals->time_max = Max(totals->time_max, row->time.max);
	}
}

static PfsSegmentTotals
no_segments(void)
{
	return (PfsSegmentTotals){ 0, 0, PG_INT64_MAX, PG_INT64_MIN };
}

PfsSegmentTotals
pfs_segment_totals(Relation relation, Snapshot snapshot)
{
	PfsSegmentTotals totals = no_segments();
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		add_to_totals(&totals, &row);
	}
	pfs_directory_scan_end(scan);
	return totals;
}

/* The segments to remove. */
typedef struct Removal
{
	/* remove only segments that lie wholly before this time; PG_INT64_MAX: all */
	int64 before;
	const int64 *segment_no; /* remove only this segment, or NULL */
} Removal;

static bool
is_removed(const Removal *removal, const PfsSegmentRow *row)
{
	if (removal->segment_no != NULL)
		return row->segment_no == *removal->segment_no;
	/* A segment without times is old only if everything is to be removed. */
	return removal->before == PG_INT64_MAX || (row->time.known && row->time.max < removal->before);
}

/* A segment that is being removed. */
typedef struct LeavingSegment
{
	Relation relation;
	const PfsSegmentRow *row;
} LeavingSegment;

static void
leaving_delete_streams(void *arg)
{
	const LeavingSegment *leaving = arg;

	pfs_segment_delete_streams(leaving->relation, leaving->row);
}

/*
 * Deletes a segment's values in the TOAST relation. A segment removed by number may have damaged
 * pages there; values that cannot be deleted stay behind.
 */
static void
remove_streams(Relation relation, const PfsSegmentRow *row, const Removal *removal)
{
	LeavingSegment leaving = { relation, row };

	if (removal->segment_no == NULL)
		leaving_delete_streams(&leaving);
	else
		(void) pfs_attempt(leaving_delete_streams, &leaving,
						   "values of the segment stay in the TOAST relation");
}

/*
 * Removes the segments that match removal: rows of the directory, streams, roll-ups that name them,
 * and their rows in the ledger. Raises an error if another transaction has changed one of them.
 */
static PfsSegmentTotals
remove_segments(Relation relation, Snapshot snapshot, const Removal *removal)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore removal", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = CurrentMemoryContext;
	PfsDirectoryWriter *writer = pfs_directory_writer_open();
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentTotals totals = no_segments();
	uint32 capacity = 0;
	int64 *removed = NULL;
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_removed(removal, &row))
			continue;
		if (!pfs_directory_remove(writer, pfs_storage_id(relation), &row))
			ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
							errmsg("another transaction has changed the segments of table \"%s\"",
								   RelationGetRelationName(relation)),
							errhint("Try again.")));
		/* Deleting streams allocates for each one, so the memory is freed with each segment. */
		MemoryContextSwitchTo(context);
		remove_streams(relation, &row, removal);
		MemoryContextSwitchTo(outer);
		MemoryContextReset(context);
		PFS_RESERVE(removed, capacity, totals.segment_count + 1);
		removed[totals.segment_count] = row.segment_no;
		add_to_totals(&totals, &row);
		pfs_progress_add(PFS_PROGRESS_SEGMENTS_DONE, 1);
	}
	pfs_directory_scan_end(scan);
	pfs_directory_writer_close(writer);
	/* The scan returns segments by ascending number, so removed[] is a valid PfsNumbers. */
	pfs_rollups_forget(pfs_storage_id(relation), snapshot,
					   (PfsNumbers){ totals.segment_count, removed });
	pfs_ledger_add(pfs_storage_id(relation), -(int64) totals.row_count, GetCurrentCommandId(true));
	if (removed != NULL)
		pfree(removed);
	MemoryContextDelete(context);
	if (totals.segment_count > 0)
	{
		pfs_storage_cache(relation)->counted_at_us = 0;
		CommandCounterIncrement();
	}
	return totals;
}

PfsSegmentTotals
pfs_remove_segments(Relation relation, Snapshot snapshot, int64 before)
{
	return remove_segments(relation, snapshot, &(Removal){ .before = before });
}

PfsSegmentTotals
pfs_remove_segment(Relation relation, Snapshot snapshot, int64 segment_no)
{
	return remove_segments(relation, snapshot, &(Removal){ .segment_no = &segment_no });
}

bool
pfs_is_vacated(Relation relation)
{
	int64 storage_id = pfs_storage_id(relation);
	PfsDirectoryScan *scan;
	PfsSegmentRow row;
	bool found;

	if (pfs_write_buffer_image_bytes(storage_id) > 0)
		return false;
	/* An old snapshot may still see rows whose deletion has committed. */
	scan = pfs_directory_scan_begin_nonvacuumable(storage_id);
	found = pfs_directory_scan_next(scan, &row);
	pfs_directory_scan_end(scan);
	return !found;
}
