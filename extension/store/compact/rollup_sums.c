/*
 * rollup_sums.c
 *		Adding up samples by stack, over segments and series.
 */
#include "store/compact/rollup_sums.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "store/scan/block_scan.h"
#include "store/segment/value.h"

/* where the number of rows stands among the columns, behind the stack */
#define ROW_COUNT_POSITION 1

/* Where series have stacks in more parts than so many each, in the mean, that is not told. */
#define MOST_PARTS_PER_SERIES 64

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

bool
pfs_rollup_sums(Relation relation, Snapshot snapshot, const PfsRollup *rollup, uint32 limit,
				PfsRows *rows)
{
	SumsByStack *sums = begin_sums(relation, Max(limit, 1));

	if (!add_segments(relation, snapshot, rollup, sums) || sums->count == 0)
		return false;
	finish_sums(sums, rows);
	return true;
}

/* The numbers of a set, ascending. */
static PfsNumbers
list_numbers(stacks_hash *set)
{
	int64 *numbers = PFS_ARRAY(int64, set->members);
	PfsNumbers list = { 0, numbers };
	stacks_iterator iterator;
	StackEntry *entry;

	stacks_start_iterate(set, &iterator);
	while ((entry = stacks_iterate(set, &iterator)) != NULL)
		numbers[list.count++] = entry->stack;
	qsort(numbers, list.count, sizeof(int64), pfs_compare_int64);
	return list;
}

/* Notes where the series of rows have stacks; false where ids are none that can be told. */
static bool
note_stack_series(const int64 *series, const int64 *stacks, uint32 row_count, stacks_hash *pairs)
{
	for (uint32 row = 0; row < row_count; row++)
	{
		int64 part = stacks[row] >> PFS_STACK_PART_BITS;
		bool found;

		if (row > 0 && series[row] == series[row - 1] &&
			stacks[row - 1] >> PFS_STACK_PART_BITS == part)
			continue;
		if (part < 0 || series[row] < 0 || series[row] > PG_UINT32_MAX)
			return false;
		stacks_insert(pairs, part << PFS_STACK_SERIES_BITS | series[row], &found);
	}
	return true;
}

PfsNumbers
pfs_rollup_stack_series(Relation relation, Snapshot snapshot, const PfsRollup *rollup)
{
	PfsRowKey key = pfs_row_key(relation);
	AttrNumber attnums[] = { key.series, key.stack };
	PfsBlockFilter filter = { key.series, PG_INT64_MIN, PG_INT64_MAX, rollup->series.numbers,
							  rollup->series.count };
	PfsBlockScan *scan =
		pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
												.snapshot = snapshot,
												.attribute_count = lengthof(attnums),
												.attnums = attnums,
												.filter_count = 1,
												.filters = &filter,
												.sums = PFS_PART_PAIRS,
												.segments = &rollup->segments });
	stacks_hash *pairs = stacks_create(CurrentMemoryContext, 1024, NULL);
	uint64 most = (uint64) rollup->series.count * MOST_PARTS_PER_SERIES;
	bool is_told = true;
	PfsBlock block;

	while (is_told && pfs_block_scan_next(scan, &block))
		is_told = note_stack_series(block.values[0], block.values[1], block.row_count, pairs) &&
				  pairs->members <= most;
	pfs_block_scan_end(scan);
	return is_told ? list_numbers(pairs) : (PfsNumbers){ 0, NULL };
}

PfsNumbers
pfs_rollup_series(Relation relation, Snapshot snapshot, PfsNumbers segments)
{
	AttrNumber attnum = pfs_row_key(relation).series;
	PfsBlockScan *scan = pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
																 .snapshot = snapshot,
																 .attribute_count = 1,
																 .attnums = &attnum,
																 .sums = PFS_PART_PAIRS,
																 .segments = &segments });
	stacks_hash *distinct = stacks_create(CurrentMemoryContext, 1024, NULL);
	PfsBlock block;

	while (pfs_block_scan_next(scan, &block))
		for (uint32 row = 0; row < block.row_count; row++)
		{
			bool found;

			if (row == 0 || block.values[0][row] != block.values[0][row - 1])
				stacks_insert(distinct, block.values[0][row], &found);
		}
	pfs_block_scan_end(scan);
	return list_numbers(distinct);
}
