/*
 * rollup_build.c
 *		Choosing what to roll up, and adding it up.
 *
 * Roll-ups are made of the segments of level 2 in ten minutes, an hour and a day that are past,
 * where there are several. Wider ones are made of narrower ones, since a scan by stack takes what
 * there is.
 */
#include "store/compact/rollup_build.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "store/compact/merge.h"
#include "store/scan/block_scan.h"
#include "store/scan/rollup.h"
#include "store/scan/scan_units.h"
#include "store/segment/codec_server.h"
#include "store/segment/directory.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"

/* A bucket is past so long after its end: late rows are merged before. */
#define PAST_AFTER_US (20 * USECS_PER_MINUTE)

/* where the number of rows stands among the columns, behind the stack */
#define ROW_COUNT_POSITION 1

/* A roll-up that is not so much shorter than the samples is not worth its bytes. */
#define LEAST_SAMPLES_PER_STACK 8

static const int64 widths[] = { 10 * USECS_PER_MINUTE, USECS_PER_HOUR, USECS_PER_DAY };

typedef struct StackEntry
{
	int64 stack;
	uint32 position;
	char status;
} StackEntry;

#define SH_PREFIX		   stacks
#define SH_ELEMENT_TYPE	   StackEntry
#define SH_KEY_TYPE		   int64
#define SH_KEY			   stack
#define SH_HASH_KEY(tb, k) murmurhash32((uint32) (k) ^ (uint32) ((uint64) (k) >> 32))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The sums being made: attribute 0 is the stack, 1 the number of rows, then summed columns. */
typedef struct SumsByStack
{
	int attribute_count;
	AttrNumber *attnums;
	uint8 *widths;
	bool *is_left_out; /* it has nulls, or a sum is out of range */
	uint32 limit;
	uint32 count;
	uint32 capacity;
	int64 **values; /* by attribute */
	stacks_hash *positions;
} SumsByStack;

static SumsByStack *
begin_sums(Relation relation, uint32 limit)
{
	TupleDesc desc = RelationGetDescr(relation);
	PfsRowKey key = pfs_row_key(relation);
	SumsByStack *sums = palloc0(sizeof(SumsByStack));

	sums->attnums = palloc(sizeof(AttrNumber) * (Size) (desc->natts + 2));
	sums->widths = palloc(desc->natts + 2);
	sums->attnums[0] = key.stack;
	sums->widths[0] = pfs_value_width(pfs_value_kind(TupleDescAttr(desc, key.stack - 1)->atttypid));
	sums->attnums[1] = PFS_ROW_COUNT_ATTNUM;
	sums->widths[1] = sizeof(int64);
	sums->attribute_count = 2;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Oid type = attribute->attisdropped ? InvalidOid : getBaseType(attribute->atttypid);

		if ((type != INT2OID && type != INT4OID && type != INT8OID) ||
			attribute->attnum == key.stack || attribute->attnum == key.series ||
			attribute->attnum == key.time)
			continue;
		sums->widths[sums->attribute_count] = sizeof(int64);
		sums->attnums[sums->attribute_count++] = attribute->attnum;
	}
	sums->is_left_out = palloc0(sizeof(bool) * (Size) sums->attribute_count);
	sums->values = palloc0(sizeof(int64 *) * (Size) sums->attribute_count);
	sums->limit = limit;
	sums->capacity = Min(limit, 4096);
	for (int i = 0; i < sums->attribute_count; i++)
		sums->values[i] = palloc(sizeof(int64) * sums->capacity);
	sums->positions = stacks_create(CurrentMemoryContext, sums->capacity, NULL);
	return sums;
}

/* Where a stack's sums stand; false where there are too many. */
static bool
find_stack(SumsByStack *sums, int64 stack, uint32 *position)
{
	bool found;
	StackEntry *entry = stacks_insert(sums->positions, stack, &found);

	if (!found)
	{
		if (sums->count == sums->limit)
			return false;
		if (sums->count == sums->capacity)
		{
			sums->capacity = pfs_grown_capacity(sums->capacity, sums->count + 1);
			for (int i = 0; i < sums->attribute_count; i++)
				sums->values[i] =
					repalloc_huge(sums->values[i], sizeof(int64) * (Size) sums->capacity);
		}
		entry->position = sums->count++;
		sums->values[0][entry->position] = stack;
		for (int i = 1; i < sums->attribute_count; i++)
			sums->values[i][entry->position] = 0;
	}
	*position = entry->position;
	return true;
}

static bool
add_block(SumsByStack *sums, const PfsBlock *block)
{
	for (int i = 0; i < sums->attribute_count; i++)
		sums->is_left_out[i] |= block->nulls[i] != NULL;
	for (uint32 row = 0; row < block->row_count; row++)
	{
		uint32 position;

		if (!find_stack(sums, block->values[0][row], &position))
			return false;
		for (int i = 1; i < sums->attribute_count; i++)
			sums->is_left_out[i] |=
				pg_add_s64_overflow(sums->values[i][position], block->values[i][row],
									&sums->values[i][position]);
	}
	/* without the stack there is nothing to add up by */
	return !sums->is_left_out[0];
}

/* The sums as columns, by ascending stack. */
static void
finish_sums(const SumsByStack *sums, PfsRows *rows)
{
	PfsColumn *columns = palloc0(sizeof(PfsColumn) * (Size) sums->attribute_count);
	int64 *order = palloc_extended(sizeof(int64) * Max(sums->count, 1), MCXT_ALLOC_HUGE);

	memcpy(order, sums->values[0], sizeof(int64) * sums->count);
	qsort(order, sums->count, sizeof(int64), pfs_compare_int64);
	memset(rows, 0, sizeof(*rows));
	rows->columns = columns;
	rows->row_count = sums->count;
	for (int i = 0; i < sums->attribute_count; i++)
	{
		int64 *values = palloc_extended(sizeof(int64) * Max(sums->count, 1), MCXT_ALLOC_HUGE);

		if (sums->is_left_out[i])
			continue;
		for (uint32 row = 0; row < sums->count; row++)
			values[row] = sums->values[i][stacks_lookup(sums->positions, order[row])->position];
		if (i > ROW_COUNT_POSITION && !sums->is_left_out[ROW_COUNT_POSITION])
		{
			columns[rows->column_count].row_counts = columns[ROW_COUNT_POSITION].values;
			columns[rows->column_count].measure = ROW_COUNT_POSITION;
		}
		columns[rows->column_count].attnum = sums->attnums[i];
		columns[rows->column_count].width = sums->widths[i];
		columns[rows->column_count++].values = values;
	}
}

static bool
add_segments(Relation relation, Snapshot snapshot, const PfsRollup *rollup, SumsByStack *sums)
{
	PfsRowKey key = pfs_row_key(relation);
	PfsBlockFilter filters[2] = {
		{ key.time, rollup->time_min, rollup->time_max, NULL, 0 },
		{ key.series, PG_INT64_MIN, PG_INT64_MAX, rollup->series.numbers, rollup->series.count },
	};
	PfsBlockScan *scan =
		pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
												.snapshot = snapshot,
												.attribute_count = sums->attribute_count,
												.attnums = sums->attnums,
												.filter_count = lengthof(filters),
												.filters = filters,
												.sums = PFS_PART_PAIRS,
												.rollup_width = rollup->width,
												.segments = &rollup->segments });
	bool fits = true;
	PfsBlock block;

	while (fits && pfs_block_scan_next(scan, &block))
		fits = add_block(sums, &block);
	pfs_block_scan_end(scan);
	return fits;
}

/*
 * Adds up the samples of a roll-up's segments and series; false where that would have too many
 * rows, or none.
 */
static bool
make_sums(Relation relation, Snapshot snapshot, const PfsRollup *rollup, uint32 limit,
		  PfsRows *rows)
{
	SumsByStack *sums = begin_sums(relation, Max(limit, 1));

	if (!add_segments(relation, snapshot, rollup, sums) || sums->count == 0)
		return false;
	finish_sums(sums, rows);
	return true;
}

/* Sets stack_count, header and payload, if a roll-up is worth its bytes. */
static void
fill_rollup(Relation relation, Snapshot snapshot, PfsRollup *rollup)
{
	uint32 limit =
		(uint32) Min(rollup->sample_count / LEAST_SAMPLES_PER_STACK, (int64) PFS_SEGMENT_MAX_ROWS);
	PfsRows rows;

	if (rollup->series.count == 0 || !make_sums(relation, snapshot, rollup, limit, &rows))
		return;
	rollup->stack_count = (int32) rows.row_count;
	pfs_segment_encode_apart(relation, &rows, &rollup->header, &rollup->payload);
}

/* Segments of one bucket. */
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

/* What is known of a segment. */
typedef struct Candidate
{
	int64 segment_no;
	PfsRange time;
	int32 row_count;
} Candidate;

static uint32
list_candidates(Relation relation, Snapshot snapshot, Candidate **candidates)
{
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	uint32 capacity = 0;
	uint32 count = 0;
	PfsSegmentRow row;

	*candidates = NULL;
	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
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
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->time.min != right->time.min)
		return left->time.min < right->time.min ? -1 : 1;
	return left->segment_no < right->segment_no ? -1 : left->segment_no > right->segment_no;
}

/*
 * The candidates, by time, from *next on that lie wholly in one bucket; false where none is left.
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

		if (pfs_time_bucket(candidate->time.max, width) != bucket->number)
			continue;
		bucket->time_min =
			bucket->count == 0 ? candidate->time.min : Min(bucket->time_min, candidate->time.min);
		bucket->time_max =
			bucket->count == 0 ? candidate->time.max : Max(bucket->time_max, candidate->time.max);
		bucket->segments[bucket->count++] = candidate->segment_no;
		bucket->sample_count += candidate->row_count;
	}
	qsort(bucket->segments, bucket->count, sizeof(int64), pfs_compare_int64);
	return true;
}

/*
 * Whether a bucket is past, and has at least twice the samples of the largest roll-up in it, which
 * may be that of a narrower bucket.
 */
static bool
needs_rollup(Relation relation, const Bucket *bucket, List *rollups)
{
	int64 rolled_up = 0;
	ListCell *cell;

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
	return bucket->sample_count >= 2 * rolled_up;
}

/*
 * Takes the range of time from the segments' headers, since the directory calls time what had the
 * name when a segment was written. False where a column of the key may be null or is missing in one
 * of them: no sums stand for that.
 */
static bool
find_range(Relation relation, Snapshot snapshot, Bucket *bucket)
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
			if (column < 0 || nulls >= 0 || !pfs_reader_column_range(reader, column, &min, &max))
				return false;
			if (attnums[j] != key.time)
				continue;
			bucket->time_min = Min(bucket->time_min, min);
			bucket->time_max = Max(bucket->time_max, max);
		}
	}
	return units.count == bucket->count;
}

/* The distinct series of a bucket's segments. */
static PfsNumbers
list_series(Relation relation, Snapshot snapshot, const Bucket *bucket)
{
	AttrNumber attnum = pfs_row_key(relation).series;
	PfsNumbers segments = { bucket->count, bucket->segments };
	PfsBlockScan *scan = pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
																 .snapshot = snapshot,
																 .attribute_count = 1,
																 .attnums = &attnum,
																 .sums = PFS_PART_PAIRS,
																 .segments = &segments });
	stacks_hash *distinct = stacks_create(CurrentMemoryContext, 1024, NULL);
	stacks_iterator iterator;
	StackEntry *entry;
	PfsNumbers series = { 0, NULL };
	int64 *numbers;
	PfsBlock block;

	while (pfs_block_scan_next(scan, &block))
		for (uint32 row = 0; row < block.row_count; row++)
		{
			bool found;

			if (row == 0 || block.values[0][row] != block.values[0][row - 1])
				stacks_insert(distinct, block.values[0][row], &found);
		}
	pfs_block_scan_end(scan);
	numbers = palloc_extended(sizeof(int64) * Max(distinct->members, 1), MCXT_ALLOC_HUGE);
	stacks_start_iterate(distinct, &iterator);
	while ((entry = stacks_iterate(distinct, &iterator)) != NULL)
		numbers[series.count++] = entry->stack;
	qsort(numbers, series.count, sizeof(int64), pfs_compare_int64);
	series.numbers = numbers;
	return series;
}

/* Cuts the series in those of a class and the others. */
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
			series[rollup->series.count++] = all.numbers[i];
		else
			others[rollup->others.count++] = all.numbers[i];
	}
}

/* A roll-up for each class; at least one row, so that what does not pay is not tried again. */
static void
roll_up(Relation relation, Bucket *bucket, List *rollups)
{
	Snapshot snapshot = GetActiveSnapshot();
	int64 storage_id = pfs_storage_id(relation);
	bool range_is_known = find_range(relation, snapshot, bucket);
	PfsNumbers all = list_series(relation, snapshot, bucket);
	int32 *classes = palloc_extended(sizeof(int32) * Max(all.count, 1), MCXT_ALLOC_HUGE);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore roll-up", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	int32 last = -1;
	ListCell *cell;

	foreach(cell, rollups)
	{
		const PfsRollup *rollup = lfirst(cell);

		if (rollup->width == bucket->width && rollup->bucket == bucket->number)
			pfs_rollup_delete(storage_id, rollup);
	}
	if (range_is_known)
		pfs_classify_series(relation, all.numbers, all.count, classes);
	else
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

		/* the next class in order */
		for (uint32 i = 0; i < all.count; i++)
			if (classes[i] > last)
				rollup.class_id = Min(rollup.class_id, classes[i]);
		if (rollup.class_id == PG_INT32_MAX && last >= 0)
			break;
		split_series(all, classes, &rollup);
		fill_rollup(relation, snapshot, &rollup);
		pfs_rollup_insert(storage_id, &rollup);
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
		key.stack == InvalidAttrNumber || key.time == InvalidAttrNumber ||
		!pfs_classify_series(relation, NULL, 0, NULL))
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
	count = list_candidates(relation, GetActiveSnapshot(), &candidates);
	if (count < 2)
		return false;
	qsort(candidates, count, sizeof(Candidate), compare_candidates);
	pfs_rollups_lock();
	rollups =
		pfs_rollups_list(pfs_storage_id(relation), GetActiveSnapshot(), PG_INT64_MIN, PG_INT64_MAX);
	for (size_t i = 0; i < lengthof(widths); i++)
	{
		uint32 next = 0;
		Bucket bucket;

		while (next_bucket(candidates, count, &next, widths[i], &bucket))
		{
			if (needs_rollup(relation, &bucket, rollups))
			{
				roll_up(relation, &bucket, rollups);
				return true;
			}
			pfree(bucket.segments);
		}
	}
	return false;
}

/* Whether the stored sums are these. */
static bool
equals_sums(Relation relation, const PfsRollup *rollup, const PfsRows *rows)
{
	PfsSegmentRow row = { .row_count = rollup->stack_count,
						  .header = rollup->header,
						  .payload = rollup->payload };
	PfsSegmentInput *input = pfs_segment_open(relation, &row);
	PfsSegmentReader *reader = pfs_segment_reader(input);
	int64 *values = palloc(sizeof(int64) * PFS_BLOCK_ROWS);
	bool *nulls = palloc(sizeof(bool) * PFS_BLOCK_ROWS);

	if (rows->row_count != pfs_reader_row_count(reader) ||
		rows->column_count > pfs_reader_column_count(reader))
		return false;
	for (uint32 i = 0; i < rows->column_count; i++)
	{
		int column = pfs_reader_find_column(reader, rows->columns[i].attnum);

		if (column < 0)
			return false;
		pfs_segment_load_column(input, column);
		for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
		{
			uint32 first = block * PFS_BLOCK_ROWS;
			bool has_nulls;
			PfsError error;
			PfsStatus status =
				pfs_reader_block(reader, column, block, values, nulls, &has_nulls, &error);

			CHECK_FOR_INTERRUPTS();
			if (status != PFS_OK)
				pfs_segment_error(relation, PFS_NO_SEGMENT, status, &error);
			if (has_nulls ||
				memcmp(values, rows->columns[i].values + first,
					   sizeof(int64) * Min(PFS_BLOCK_ROWS, rows->row_count - first)) != 0)
				return false;
		}
	}
	return true;
}

/* Rows that a roll-up's segments have; false where one is not there, or named twice. */
static bool
count_samples(const PfsRollup *rollup, PfsNumbers visible, const int64 *row_counts, int64 *count)
{
	*count = 0;
	for (uint32 i = 0; i < rollup->segments.count; i++)
	{
		int64 position = pfs_numbers_find(visible, rollup->segments.numbers[i]);

		if (position < 0 ||
			(i > 0 && rollup->segments.numbers[i] <= rollup->segments.numbers[i - 1]))
			return false;
		*count += row_counts[position];
	}
	return true;
}

/*
 * What is wrong with a roll-up, NULL: nothing. Whoever removes a segment removes the roll-ups that
 * name it.
 */
static const char *
find_problem(Relation relation, Snapshot snapshot, const PfsRollup *rollup, PfsNumbers visible,
			 const int64 *row_counts)
{
	PfsRows rows;
	int64 count;

	if (!count_samples(rollup, visible, row_counts, &count))
		return "names segments that are missing";
	if (count != rollup->sample_count)
		return "names another number of samples than its segments have";
	if (rollup->stack_count > 0 && pfs_rollup_fits(rollup, relation) &&
		(!make_sums(relation, snapshot, rollup, PFS_SEGMENT_MAX_ROWS, &rows) ||
		 !equals_sums(relation, rollup, &rows)))
		return "is not the sum of its segments";
	return NULL;
}

/* Rows of each visible segment, in the same order. */
static int64 *
list_row_counts(Relation relation, Snapshot snapshot, PfsNumbers visible)
{
	int64 *row_counts = palloc_extended(sizeof(int64) * Max(visible.count, 1), MCXT_ALLOC_HUGE);
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	for (uint32 i = 0; i < visible.count && pfs_directory_scan_next(scan, &row); i++)
		row_counts[i] = row.row_count;
	pfs_directory_scan_end(scan);
	return row_counts;
}

void
pfs_rollups_verify(Relation relation, Snapshot snapshot,
				   void (*report)(void *arg, const char *problem), void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore roll-up", ALLOCSET_DEFAULT_SIZES);
	List *rollups =
		pfs_rollups_list(pfs_storage_id(relation), snapshot, PG_INT64_MIN, PG_INT64_MAX);
	PfsNumbers visible = { 0 };
	int64 *row_counts = NULL;
	ListCell *cell;

	if (rollups != NIL)
	{
		visible = pfs_visible_segments(relation, snapshot);
		row_counts = list_row_counts(relation, snapshot, visible);
	}
	foreach(cell, rollups)
	{
		PfsRollup *rollup = lfirst(cell);
		MemoryContext outer = MemoryContextSwitchTo(context);
		const char *problem;

		pfs_rollup_load(rollup);
		problem = find_problem(relation, snapshot, rollup, visible, row_counts);
		if (problem != NULL)
			report(arg, psprintf("the roll-up of class %d in bucket %lld of %lld s %s",
								 rollup->class_id, (long long) rollup->bucket,
								 (long long) (rollup->width / USECS_PER_SEC), problem));
		MemoryContextSwitchTo(outer);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}
