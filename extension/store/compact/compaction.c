/*
 * compaction.c
 *		Does one step of compaction: a merge (plan, read, write, delete the inputs). If no merge is
 *		left, it makes a roll-up; if no roll-up is left either, it moves segments to the front of
 *		the file.
 */
#include "store/compact/compaction.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/attempt.h"
#include "base/progress.h"
#include "codec/segment.h"
#include "store/compact/compaction_plan.h"
#include "store/compact/directory_room.h"
#include "store/compact/relocation.h"
#include "store/compact/rollup_build.h"
#include "store/compact/segment_merge.h"
#include "store/scan/rollup.h"
#include "store/segment/directory.h"
#include "store/segment/ledger.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"

/*
 * Bounds of the number of rows of a new segment. Between them it follows maintenance_work_mem. The
 * codec would allow PFS_SEGMENT_MAX_ROWS.
 */
#define MAX_OUTPUT_ROWS (1 << 20)
#define MIN_OUTPUT_ROWS (1 << 14)

/* Lists what the planner needs to know of each segment that the snapshot sees. */
static PfsPlanSegment *
compaction_list_segments(Relation relation, Snapshot snapshot, uint32 *count)
{
	uint32 column_count = (uint32) RelationGetNumberOfAttributes(relation);
	uint32 capacity = 0;
	PfsPlanSegment *segments = NULL;
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	*count = 0;
	while (pfs_directory_scan_next(scan, &row))
	{
		PfsPlanSegment *segment;

		CHECK_FOR_INTERRUPTS();
		PFS_RESERVE(segments, capacity, *count + 1);
		segment = &segments[(*count)++];
		segment->segment_no = row.segment_no;
		segment->address = row.address;
		segment->time = row.time;
		segment->row_count = row.row_count;
		segment->level = row.level;
		segment->input_bytes = pfs_merge_input_bytes(&row, column_count);
	}
	pfs_directory_scan_end(scan);
	return segments;
}

/*
 * Returns the limits of a merge: half of maintenance_work_mem is for inputs, half for the rows of
 * the output.
 */
static PfsPlanLimits
limits_for(Relation relation, uint32 open_inputs, uint32 max_inputs)
{
	Size budget = (Size) maintenance_work_mem * 1024 / 2;
	Size row_bytes = sizeof(int64) * (Size) RelationGetNumberOfAttributes(relation);
	/* Whole blocks, because a shorter last block compresses worse. */
	Size rows = budget / row_bytes / PFS_BLOCK_ROWS * PFS_BLOCK_ROWS;
	PfsPlanLimits limits = { Max(open_inputs, 2), max_inputs, budget,
							 (uint32) Min(Max(rows, MIN_OUTPUT_ROWS), MAX_OUTPUT_ROWS) };

	return limits;
}

static Oid
time_type(Relation relation)
{
	AttrNumber attnum = pfs_row_key(relation).time;

	if (attnum == InvalidAttrNumber)
		return InvalidOid;
	return TupleDescAttr(RelationGetDescr(relation), attnum - 1)->atttypid;
}

/* Fetches the directory rows of the plan's segments, in order of segment_no. */
static PfsSegmentRow *
fetch_rows(Relation relation, PfsDirectoryWriter *writer, Snapshot snapshot, const PfsPlan *plan)
{
	PfsSegmentRow *rows = palloc(sizeof(PfsSegmentRow) * (Size) plan->count);

	for (uint32 i = 0; i < plan->count; i++)
		/*
		 * The directory was locked before it was listed, so the row must still be at its address.
		 */
		if (!pfs_directory_fetch(writer, snapshot, &plan->inputs[i]->address, &rows[i]) ||
			rows[i].segment_no != plan->inputs[i]->segment_no)
			elog(ERROR, "segment " INT64_FORMAT " of table \"%s\" is missing from its snapshot",
				 plan->inputs[i]->segment_no, RelationGetRelationName(relation));
	return rows;
}

/* Deletes the merged segments. Returns false if another transaction has changed one of them. */
static bool
remove_inputs(Relation relation, PfsDirectoryWriter *writer, const PfsPlan *plan,
			  const PfsSegmentRow *rows)
{
	uint32 count = plan->count;
	int64 *segment_nos = palloc(sizeof(int64) * (Size) count);

	/* Delete all directory rows first: if one of them is refused, no stream has been touched. */
	for (uint32 i = 0; i < count; i++)
		if (!pfs_directory_remove(writer, pfs_storage_id(relation), &rows[i]))
			return false;
	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pfs_segment_delete_streams(relation, &rows[i]);
		segment_nos[i] = rows[i].segment_no;
	}
	/* Roll-ups name segments by number, so those that name a removed one are of no use. */
	pfs_rollups_forget(pfs_storage_id(relation), GetActiveSnapshot(),
					   (PfsNumbers){ count, segment_nos });
	pfs_ledger_fold(pfs_storage_id(relation), GetActiveSnapshot());
	return true;
}

/* Reports the size and the range of times of a merge that begins. */
static void
report_merge(Relation relation, const PfsSegmentRow *rows, uint32 count)
{
	bool has_time = time_type(relation) == TIMESTAMPTZOID;
	int64 row_count = 0;
	int64 byte_count = 0;
	int64 time_min = PG_INT64_MAX;
	int64 time_max = PG_INT64_MIN;

	for (uint32 i = 0; i < count; i++)
	{
		row_count += rows[i].row_count;
		byte_count += rows[i].byte_count;
		/* The view of progress shows timestamps, so other types of time are left out. */
		if (has_time && rows[i].time.known)
		{
			time_min = Min(time_min, rows[i].time.min);
			time_max = Max(time_max, rows[i].time.max);
		}
	}
	pfs_progress_set(PFS_PROGRESS_SEGMENTS_TOTAL, count);
	pfs_progress_set(PFS_PROGRESS_SEGMENTS_DONE, 0);
	pfs_progress_set(PFS_PROGRESS_ROWS_TOTAL, row_count);
	pfs_progress_set(PFS_PROGRESS_ROWS_DONE, 0);
	pfs_progress_set(PFS_PROGRESS_BYTES_TOTAL, byte_count);
	pfs_progress_set(PFS_PROGRESS_BYTES_WRITTEN, 0);
	pfs_progress_set(PFS_PROGRESS_TIME_MIN, time_min > time_max ? PG_INT64_MIN : time_min);
	pfs_progress_set(PFS_PROGRESS_TIME_MAX, time_min > time_max ? PG_INT64_MIN : time_max);
	pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_MERGING);
}

static bool
compaction_merge(Relation relation, Snapshot snapshot, const PfsPlan *plan,
				 const PfsPlanLimits *limits)
{
	PfsDirectoryWriter *writer = pfs_directory_writer_open();
	PfsSegmentRow *rows = fetch_rows(relation, writer, snapshot, plan);
	PfsMergeSpec spec = { plan->count, rows, limits->output_rows, plan->level, plan->split_width };
	bool done;

	report_merge(relation, rows, plan->count);
	/*
	 * Write before deleting: an interrupt or a full disk is noticed while nothing has been deleted,
	 * and the deletes take little time.
	 */
	pfs_merge_segments(relation, pfs_storage_id(relation), writer, &spec);
	pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_REMOVING);
	done = remove_inputs(relation, writer, plan, rows);
	pfs_directory_writer_close(writer);
	return done;
}

static PfsCompactionStep
compaction_relocate(Relation relation, Snapshot snapshot)
{
	static const PfsCompactionStep steps[] = {
		[PFS_RELOCATION_NONE] = PFS_COMPACTION_IDLE,
		[PFS_RELOCATION_MOVED] = PFS_COMPACTION_MOVED,
		[PFS_RELOCATION_AWAITS_VACUUM] = PFS_COMPACTION_AWAITS_VACUUM,
		[PFS_RELOCATION_GIVEN_UP] = PFS_COMPACTION_GIVEN_UP,
	};
	PfsRelocation result = pfs_relocate_streams(relation, snapshot);
	PfsRelocation rows = PFS_RELOCATION_NONE;

	/* Directory rows are moved only if no stream was, so that one step moves one kind of data. */
	if (result == PFS_RELOCATION_NONE || result == PFS_RELOCATION_AWAITS_VACUUM)
		rows = pfs_relocate_directory_rows(relation, snapshot);
	return steps[rows == PFS_RELOCATION_NONE ? result : rows];
}

/* Plans and does a step, in a subtransaction whose memory context is current. */
static PfsCompactionStep
plan_and_work(Relation relation, uint32 open_inputs, uint32 max_inputs, uint32 *merged)
{
	PfsPlanLimits limits = limits_for(relation, open_inputs, max_inputs);
	PfsCompactionStep step;
	PfsPlanSegment *segments;
	PfsPlan plan;
	uint32 count;

	pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_PLANNING);
	/* Take the lock before the snapshot, so that no row committed during the wait is missed. */
	if (!pfs_directory_try_lock())
		return PFS_COMPACTION_BLOCKED;
	/* The transaction's own snapshot may be older than segments that others have committed. */
	PushActiveSnapshot(GetLatestSnapshot());
	segments = compaction_list_segments(relation, GetActiveSnapshot(), &count);
	if (pfs_plan_compaction(segments, count, time_type(relation), &limits, &plan))
	{
		step = compaction_merge(relation, GetActiveSnapshot(), &plan, &limits)
				   ? PFS_COMPACTION_MERGED
				   : PFS_COMPACTION_GIVEN_UP;
		*merged = plan.count;
	}
	else if (pfs_rollup_step(relation))
		/* Roll-ups name segments of level 2, so they wait until no merge would replace these. */
		step = PFS_COMPACTION_ROLLED_UP;
	else
		step = compaction_relocate(relation, GetActiveSnapshot());
	PopActiveSnapshot();
	return step;
}

typedef struct Compaction
{
	Relation relation;
	uint32 open_inputs;
	uint32 max_inputs;
	uint32 merged;
	PfsCompactionStep step;
} Compaction;

static bool
compaction_run(void *arg)
{
	Compaction *compaction = arg;
	/* The plan lives in the subtransaction's memory and is freed with it. */
	MemoryContext caller = MemoryContextSwitchTo(CurTransactionContext);

	compaction->step = plan_and_work(compaction->relation, compaction->open_inputs,
									 compaction->max_inputs, &compaction->merged);
	MemoryContextSwitchTo(caller);
	/*
	 * false rolls the subtransaction back, and with it the segments that were written for nothing.
	 */
	return compaction->step != PFS_COMPACTION_GIVEN_UP &&
		   compaction->step != PFS_COMPACTION_BLOCKED;
}

PfsCompactionStep
pfs_compaction_step(Relation relation, uint32 open_inputs, uint32 max_inputs, uint32 *merged)
{
	Compaction compaction = { relation, open_inputs, max_inputs, 0, PFS_COMPACTION_IDLE };

	/*
	 * work in a subtransaction, because an error would otherwise leave the session in a failed
	 * transaction block
	 */
	ErrorData *error = pfs_subtransaction(compaction_run, &compaction);

	if (error != NULL)
		ReThrowError(error);
	*merged = compaction.merged;
	if (compaction.step == PFS_COMPACTION_MERGED)
	{
		pfs_progress_add(PFS_PROGRESS_MERGES_DONE, 1);
		/* The planner must count rows and pages again. */
		pfs_storage_cache(relation)->counted_at_us = 0;
	}
	/* The next step of the same transaction must see the rows that this one has written. */
	CommandCounterIncrement();
	return compaction.step;
}
