/*
 * rollup_build.c
 *		Chooses what to roll up.
 *
 * Roll-ups are made from the segments of level 2 in ten minutes, an hour or a day that is past and
 * has several. Wider roll-ups are made from narrower ones, because the scan that sums by stack
 * reads roll-ups itself.
 *
 * 1. The segments are listed by time, so those of a bucket follow each other.
 * 2. The first bucket is taken, narrow ones first, that has no roll-ups, or has at least twice the
 *    samples that they sum.
 * 3. Its series are divided into classes. Each class gets a roll-up, if it is worth its bytes
 *    (rollup_sums.c), and for a day pieces by series, if they are (rollup_pieces.c).
 */
#include "store/compact/rollup_build.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "store/compact/rollup_pieces.h"
#include "store/compact/rollup_sums.h"
#include "store/compact/segment_merge.h"
#include "store/scan/rollup.h"
#include "store/scan/scan_units.h"
#include "store/segment/directory.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"

/* A bucket is past this long after its end, so that late rows are merged before it is rolled up. */
#define PAST_AFTER_US (20 * USECS_PER_MINUTE)

/* A roll-up must be at least this many times shorter than the samples to be worth its bytes. */
#define LEAST_SAMPLES_PER_STACK 8

/*
 * Only roll-ups of this width have pieces. For a shorter time, a few series are read from the
 * segments.
 */
#define WITH_PIECES USECS_PER_DAY

static const int64 widths[] = { 10 * USECS_PER_MINUTE, USECS_PER_HOUR, USECS_PER_DAY };

/* Computes and encodes the sums if the roll-up is worth its bytes, and writes its pieces. */
static void
fill_rollup(Relation relation, Snapshot snapshot, PfsRollup *rollup)
{
	uint32 limit =
		(uint32) Min(rollup->sample_count / LEAST_SAMPLES_PER_STACK, (int64) PFS_SEGMENT_MAX_ROWS);
	PfsRows rows;

	/* A row without sums is written all the same: it marks the bucket as done. */
	if (rollup->series.count == 0 || !pfs_rollup_sums(relation, snapshot, rollup, limit, &rows))
		return;
	rollup->stack_count = (int32) rows.row_count;
	rollup->stack_series = pfs_rollup_stack_series(relation, snapshot, rollup);
	pfs_segment_encode_apart(relation, &rows, &rollup->header, &rollup->payload);
	if (rollup->width == WITH_PIECES)
		rollup->pieces = pfs_rollup_pieces_build(relation, snapshot, rollup);
}

/* The segments of one bucket. */
typedef struct Bucket
{
	int64 width;
	int64 number;
	uint32 count;
	int64 *segments;
	int64 time_min;
	int64 time_max;
	int64 sample_count;
} Bucket;

/* A segment that may be rolled up. */
typedef struct Candidate
{
	int64 segment_no;
	PfsRange time;
	int32 row_count;
} Candidate;

/* Lists the segments that roll-ups may sum up: merged ones with a finite range of time. */
static uint32
rollup_list_candidates(Relation relation, Snapshot snapshot, Candidate **candidates)
{
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	uint32 capacity = 0;
	uint32 count = 0;
	PfsSegmentRow row;

	*candidates = NULL;
	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		/* Segments of levels 0 and 1 will be merged, which would delete the roll-up again. */
		if (row.level < 2 || !row.time.known || TIMESTAMP_NOT_FINITE(row.time.min) ||
			TIMESTAMP_NOT_FINITE(row.time.max))
			continue;
		PFS_RESERVE(*candidates, capacity, count + 1);
		(*candidates)[count++] = (Candidate){ row.segment_no, row.time, row.row_count };
	}
	pfs_directory_scan_end(scan);
	return count;
}

static int
rollup_compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->time.min != right->time.min)
		return left->time.min < right->time.min ? -1 : 1;
	return left->segment_no < right->segment_no ? -1 : left->segment_no > right->segment_no;
}

/*
 * Collects the candidates of the next bucket: those from *next on that begin in the bucket and end
 * in it. Candidates are sorted by time. Returns false if none is left.
 */
static bool
next_bucket(const Candidate *candidates, uint32 count, uint32 *next, int64 width, Bucket *bucket)
{
	if (*next == count)
		return false;
	*bucket = (Bucket){ width, pfs_time_bucket(candidates[*next].time.min, width) };
	bucket->segments = palloc(sizeof(int64) * count);
	for (; *next < count && pfs_time_bucket(candidates[*next].time.min, width) == bucket->number;
		 (*next)++)
	{
		const Candidate *candidate = &candidates[*next];

		/* A segment that reaches into the next bucket cannot be summed with either. */
		if (pfs_time_bucket(candidate->time.max, width) != bucket->number)
			continue;
		bucket->time_min =
			bucket->count == 0 ? candidate->time.min : Min(bucket->time_min, candidate->time.min);
		bucket->time_max =
			bucket->count == 0 ? candidate->time.max : Max(bucket->time_max, candidate->time.max);
		bucket->segments[bucket->count++] = candidate->segment_no;
		bucket->sample_count += candidate->row_count;
	}
	/* PfsNumbers are ascending. */
	qsort(bucket->segments, bucket->count, sizeof(int64), pfs_compare_int64);
	return true;
}

/*
 * Returns true if a bucket is past, and has at least twice the samples of the largest roll-up in
 * it. That roll-up may be of a narrower bucket.
 */
static bool
needs_rollup(Relation relation, const Bucket *bucket, List *rollups)
{
	int64 rolled_up = 0;
	ListCell *cell;

	/* With one segment, its own table of pairs is the roll-up. */
	if (bucket->count < 2 ||
		(bucket->number + 1) * bucket->width + PAST_AFTER_US >= GetCurrentTimestamp())
		return false;
	foreach(cell, rollups)
	{
		const PfsRollup *rollup = lfirst(cell);

		bool is_its_own = rollup->width == bucket->width && rollup->bucket == bucket->number;
		bool is_within = rollup->stack_count > 0 && rollup->width < bucket->width &&
						 pfs_time_bucket(rollup->time_min, bucket->width) == bucket->number &&
						 pfs_time_bucket(rollup->time_max, bucket->width) == bucket->number;

		if ((is_its_own || is_within) && pfs_rollup_fits(rollup, relation))
			rolled_up = Max(rolled_up, rollup->sample_count);
	}
	/*
	 * Late rows make a bucket be summed again only after its samples have doubled, which bounds the
	 * work.
	 */
	return bucket->sample_count >= 2 * rolled_up;
}

/*
 * Reads the range of time from the segments' headers, because the ranges in the directory are those
 * of the column that was named time when a segment was written. Returns false if a key column has
 * nulls or is missing in one of the segments, because such rows cannot be summed.
 */
static bool
rollup_find_range(Relation relation, Snapshot snapshot, Bucket *bucket)
{
	PfsRowKey key = pfs_row_key(relation);
	const AttrNumber attnums[] = { key.series, key.stack, key.time };
	PfsNumbers segments = { bucket->count, bucket->segments };
	PfsScanRequest request = { .relation = relation, .snapshot = snapshot, .segments = &segments };
	PfsScanUnits units;

	pfs_scan_units_list(&request, &units);
	bucket->time_min = PG_INT64_MAX;
	bucket->time_max = PG_INT64_MIN;
	for (uint32 i = 0; i < units.count; i++)
	{
		PfsSegmentReader *reader =
			pfs_segment_reader(pfs_segment_open(relation, &units.units[i].row));

		for (size_t j = 0; j < lengthof(attnums); j++)
		{
			int column = pfs_reader_find_column(reader, attnums[j]);
			int values;
			int nulls = -1;
			int64 min;
			int64 max;

			if (column >= 0)
				pfs_reader_column_streams(reader, column, &values, &nulls);
			/* A null key has no group of its own in sums. */
			if (column < 0 || nulls >= 0 || !pfs_reader_column_range(reader, column, &min, &max))
				return false;
			if (attnums[j] != key.time)
				continue;
			bucket->time_min = Min(bucket->time_min, min);
			bucket->time_max = Max(bucket->time_max, max);
		}
	}
	/* pfs_scan_units_list() leaves out segments that the snapshot does not see. */
	return units.count == bucket->count;
}

/* Divides the series into those of the roll-up's class and the others. */
static void
split_series(PfsNumbers all, const int32 *classes, PfsRollup *rollup)
{
	int64 *series = palloc_extended(sizeof(int64) * Max(all.count, 1), MCXT_ALLOC_HUGE);
	int64 *others = palloc_extended(sizeof(int64) * Max(all.count, 1), MCXT_ALLOC_HUGE);

	rollup->series = (PfsNumbers){ 0, series };
	rollup->others = (PfsNumbers){ 0, others };
	for (uint32 i = 0; i < all.count; i++)
	{
		if (classes[i] == rollup->class_id)
			/* Both lists stay ascending, as PfsNumbers must be. */
			series[rollup->series.count++] = all.numbers[i];
		else
			others[rollup->others.count++] = all.numbers[i];
	}
}

/*
 * Writes a roll-up for each class. If none is worth its bytes, writes one row without sums, so that
 * the bucket is not tried again.
 */
static void
segments_roll_up(Relation relation, Bucket *bucket)
{
	Snapshot snapshot = GetActiveSnapshot();
	int64 storage_id = pfs_storage_id(relation);
	bool range_is_known = rollup_find_range(relation, snapshot, bucket);
	PfsNumbers all =
		pfs_rollup_series(relation, snapshot, (PfsNumbers){ bucket->count, bucket->segments });
	int32 *classes = palloc_extended(sizeof(int32) * Max(all.count, 1), MCXT_ALLOC_HUGE);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore roll-up", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	int32 last = -1;

	/* Rows of an earlier attempt, which the new segments have made obsolete. */
	pfs_rollups_delete_bucket(storage_id, bucket->width, bucket->number);
	if (range_is_known)
		pfs_classify_series(relation, all.numbers, all.count, classes);
	else
		/* Class -1 means that a series is not rolled up. */
		memset(classes, -1, sizeof(int32) * all.count);
	for (;;)
	{
		PfsRollup rollup = { .width = bucket->width,
							 .bucket = bucket->number,
							 .class_id = PG_INT32_MAX,
							 .key = pfs_row_key(relation),
							 .time_min = bucket->time_min,
							 .time_max = bucket->time_max,
							 .sample_count = bucket->sample_count,
							 .segments = { bucket->count, bucket->segments } };

		/* find the next class in ascending order */
		for (uint32 i = 0; i < all.count; i++)
			if (classes[i] > last)
				rollup.class_id = Min(rollup.class_id, classes[i]);
		/* No class is left, and at least one has been written. */
		if (rollup.class_id == PG_INT32_MAX && last >= 0)
			break;
		split_series(all, classes, &rollup);
		fill_rollup(relation, snapshot, &rollup);
		pfs_rollup_insert(storage_id, &rollup);
		/* There was no class at all: the row just written marks the bucket as done. */
		if (rollup.class_id == PG_INT32_MAX)
			break;
		last = rollup.class_id;
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

static bool
can_roll_up(Relation relation)
{
	PfsRowKey key = pfs_row_key(relation);
	Oid type;

	if (pfs_classify_series == NULL || key.series == InvalidAttrNumber ||
		key.stack == InvalidAttrNumber || key.time == InvalidAttrNumber)
		return false;
	type = TupleDescAttr(RelationGetDescr(relation), key.time - 1)->atttypid;
	return type == TIMESTAMPTZOID || type == TIMESTAMPOID;
}

bool
pfs_rollup_step(Relation relation)
{
	List *rollups;
	Candidate *candidates;
	uint32 count;

	if (!can_roll_up(relation))
		return false;
	count = rollup_list_candidates(relation, GetActiveSnapshot(), &candidates);
	if (count < 2)
		return false;
	qsort(candidates, count, sizeof(Candidate), rollup_compare_candidates);
	/* Lock before listing, so that the listed rows can be deleted by their addresses. */
	pfs_rollups_lock();
	rollups =
		pfs_rollups_list(pfs_storage_id(relation), GetActiveSnapshot(), PG_INT64_MIN, PG_INT64_MAX);
	for (size_t i = 0; i < lengthof(widths); i++)
	{
		uint32 next = 0;
		Bucket bucket;

		while (next_bucket(candidates, count, &next, widths[i], &bucket))
		{
			/* One bucket per step, which keeps the transaction short. */
			if (needs_rollup(relation, &bucket, rollups))
			{
				segments_roll_up(relation, &bucket);
				return true;
			}
			pfree(bucket.segments);
		}
	}
	return false;
}
