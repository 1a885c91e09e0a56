/*
 * rollup_sums.c
 *		Sums the samples of segments by stack, or by series and stack.
 */
#include "store/compact/rollup_sums.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "store/scan/block_scan.h"
#include "store/segment/value.h"

/* position of the row count among the columns; position 0 is the stack */
#define ROW_COUNT_POSITION 1

/* If series have stacks in more parts than this on average, the parts are not listed. */
#define MOST_PARTS_PER_SERIES 64

typedef struct SumKey
{
	int64 series; /* 0 if sums are by stack */
	int64 stack;
} SumKey;

typedef struct SumEntry
{
	SumKey key;
	uint32 position;
	char status;
} SumEntry;

#define SH_PREFIX		   sum_positions
#define SH_ELEMENT_TYPE	   SumEntry
#define SH_KEY_TYPE		   SumKey
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k).stack + pfs_hash64((uint64) (k).series))
#define SH_EQUAL(tb, a, b) ((a).stack == (b).stack && (a).series == (b).series)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct NumberEntry
{
	int64 number;
	char status;
} NumberEntry;

#define SH_PREFIX		   numbers
#define SH_ELEMENT_TYPE	   NumberEntry
#define SH_KEY_TYPE		   int64
#define SH_KEY			   number
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/*
 * Sums being computed. Attribute 0 is the stack, 1 the number of rows, then come the summed columns
 * and last the series, if sums are by series.
 */
typedef struct Sums
{
	int attribute_count;
	int summed_end; /* one past the last summed column */
	AttrNumber *attnums;
	uint8 *widths;
	/* for each attribute, true if the column has nulls or a sum is out of range */
	bool *is_left_out;
	uint32 limit;
	uint32 count;
	uint32 capacity;
	int64 **values; /* sums by attribute, then by position */
	sum_positions_hash *positions;
} Sums;

static void
add_attribute(Sums *sums, Relation relation, AttrNumber attnum, bool is_summed)
{
	sums->attnums[sums->attribute_count] = attnum;
	sums->widths[sums->attribute_count++] =
		is_summed ? sizeof(int64)
				  : pfs_value_width(pfs_value_kind(
						TupleDescAttr(RelationGetDescr(relation), attnum - 1)->atttypid));
}

/*
 * Returns an empty table of sums by stack, or by series and stack, of the row count and of all
 * integer columns outside the key. It holds up to limit sums.
 */
static Sums *
rollup_begin_sums(Relation relation, bool by_series, uint32 limit)
{
	TupleDesc desc = RelationGetDescr(relation);
	PfsRowKey key = pfs_row_key(relation);
	Sums *sums = palloc0(sizeof(Sums));

	sums->attnums = palloc(sizeof(AttrNumber) * (Size) (desc->natts + 2));
	sums->widths = palloc(desc->natts + 2);
	add_attribute(sums, relation, key.stack, false);
	add_attribute(sums, relation, PFS_ROW_COUNT_ATTNUM, true);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Oid type = attribute->attisdropped ? InvalidOid : getBaseType(attribute->atttypid);

		if ((type == INT2OID || type == INT4OID || type == INT8OID) &&
			attribute->attnum != key.stack && attribute->attnum != key.series &&
			attribute->attnum != key.time)
			add_attribute(sums, relation, attribute->attnum, true);
	}
	sums->summed_end = sums->attribute_count;
	if (by_series)
		add_attribute(sums, relation, key.series, false);
	sums->is_left_out = palloc0(sizeof(bool) * (Size) sums->attribute_count);
	sums->values = palloc0(sizeof(int64 *) * (Size) sums->attribute_count);
	sums->limit = limit;
	sums->capacity = Min(limit, 4096);
	for (int i = 0; i < sums->attribute_count; i++)
		sums->values[i] = palloc(sizeof(int64) * sums->capacity);
	sums->positions = sum_positions_create(CurrentMemoryContext, sums->capacity, NULL);
	return sums;
}

static bool
by_series(const Sums *sums)
{
	return sums->summed_end < sums->attribute_count;
}

/* Finds the position of a key's sums, and adds the key if it is new. Returns false at the limit. */
static bool
find_sums(Sums *sums, SumKey key, uint32 *position)
{
	bool found;
	SumEntry *entry = sum_positions_insert(sums->positions, key, &found);

	if (!found)
	{
		/* The entry without a position stays in the table, but the caller gives up. */
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
		sums->values[0][entry->position] = key.stack;
		for (int i = 1; i < sums->summed_end; i++)
			sums->values[i][entry->position] = 0;
		if (by_series(sums))
			sums->values[sums->summed_end][entry->position] = key.series;
	}
	*position = entry->position;
	return true;
}

/* Adds the rows of a block. Returns false at the limit, or if a key column has nulls. */
static bool
rollup_add_block(Sums *sums, const PfsBlock *block)
{
	const int64 *series = by_series(sums) ? block->values[sums->summed_end] : NULL;

	for (int i = 0; i < sums->attribute_count; i++)
		/* The value of a null is unspecified, so a column with nulls is left out of the roll-up. */
		sums->is_left_out[i] |= block->nulls[i] != NULL;
	for (uint32 row = 0; row < block->row_count; row++)
	{
		SumKey key = { series == NULL ? 0 : series[row], block->values[0][row] };
		uint32 position;

		if (!find_sums(sums, key, &position))
			return false;
		for (int i = 1; i < sums->summed_end; i++)
			sums->is_left_out[i] |=
				/* An overflow leaves the column out of the roll-up; the others stay. */
				pg_add_s64_overflow(sums->values[i][position], block->values[i][row],
									&sums->values[i][position]);
	}
	/* without a key column there is nothing to sum by */
	return !sums->is_left_out[0] && (series == NULL || !sums->is_left_out[sums->summed_end]);
}

static int
compare_entries(const void *a, const void *b)
{
	const SumKey *left = &((const SumEntry *) a)->key;
	const SumKey *right = &((const SumEntry *) b)->key;

	if (left->series != right->series)
		return left->series < right->series ? -1 : 1;
	return (left->stack > right->stack) - (left->stack < right->stack);
}

/* Returns the keys with their positions, sorted by series and stack. */
static SumEntry *
sort_keys(const Sums *sums)
{
	SumEntry *entries = PFS_ARRAY(SumEntry, sums->count);

	for (uint32 i = 0; i < sums->count; i++)
		entries[i] = (SumEntry){ .key = { by_series(sums) ? sums->values[sums->summed_end][i] : 0,
										  sums->values[0][i] },
								 .position = i };
	qsort(entries, sums->count, sizeof(SumEntry), compare_entries);
	return entries;
}

/* Returns the sums as columns, sorted by series and stack. Columns that overflowed are left out. */
static void
finish_sums(const Sums *sums, PfsRows *rows)
{
	PfsColumn *columns = palloc0(sizeof(PfsColumn) * (Size) sums->attribute_count);
	const SumEntry *order = sort_keys(sums);

	memset(rows, 0, sizeof(*rows));
	rows->columns = columns;
	rows->row_count = sums->count;
	for (int i = 0; i < sums->attribute_count; i++)
	{
		int64 *values;

		if (sums->is_left_out[i])
			continue;
		values = PFS_ARRAY(int64, sums->count);
		for (uint32 row = 0; row < sums->count; row++)
			values[row] = sums->values[i][order[row].position];
		/*
		 * Sums of samples grow with their number, so the difference from a multiple of it takes
		 * fewer bits.
		 */
		if (i > ROW_COUNT_POSITION && i < sums->summed_end &&
			!sums->is_left_out[ROW_COUNT_POSITION])
		{
			columns[rows->column_count].row_counts = columns[ROW_COUNT_POSITION].values;
			columns[rows->column_count].measure = ROW_COUNT_POSITION;
		}
		columns[rows->column_count].attnum = sums->attnums[i];
		columns[rows->column_count].width = sums->widths[i];
		columns[rows->column_count++].values = values;
	}
}

/*
 * Adds the rows of the roll-up's segments, series and times. Returns false if the sums exceed their
 * limit.
 */
static bool
add_segments(Relation relation, Snapshot snapshot, const PfsRollup *rollup, Sums *sums)
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
												/*
												 * Only narrower roll-ups are read, so that none is
												 * made from itself. Those by stack cannot be split
												 * by series.
												 */
												.rollup_width = by_series(sums) ? 0 : rollup->width,
												.segments = &rollup->segments });
	bool fits = true;
	PfsBlock block;

	while (fits && pfs_block_scan_next(scan, &block))
		fits = rollup_add_block(sums, &block);
	pfs_block_scan_end(scan);
	return fits;
}

bool
pfs_rollup_sums(Relation relation, Snapshot snapshot, const PfsRollup *rollup, uint32 limit,
				PfsRows *rows)
{
	Sums *sums = rollup_begin_sums(relation, rollup->piece > 0, Max(limit, 1));

	if (!add_segments(relation, snapshot, rollup, sums) || sums->count == 0)
		return false;
	finish_sums(sums, rows);
	return true;
}

/* Returns the numbers of a set in ascending order. */
static PfsNumbers
list_numbers(numbers_hash *set)
{
	int64 *listed = PFS_ARRAY(int64, set->members);
	PfsNumbers list = { 0, listed };
	numbers_iterator iterator;
	NumberEntry *entry;

	numbers_start_iterate(set, &iterator);
	while ((entry = numbers_iterate(set, &iterator)) != NULL)
		listed[list.count++] = entry->number;
	qsort(listed, list.count, sizeof(int64), pfs_compare_int64);
	return list;
}

/*
 * Records for each row the pair of stack part and series. Returns false for an id that cannot be
 * packed into a pair.
 */
static bool
note_stack_series(const int64 *series, const int64 *stacks, uint32 row_count, numbers_hash *pairs)
{
	for (uint32 row = 0; row < row_count; row++)
	{
		int64 part = stacks[row] >> PFS_STACK_PART_BITS;
		bool found;

		/* Rows are sorted by series and stack, so most pairs equal the one before. */
		if (row > 0 && series[row] == series[row - 1] &&
			stacks[row - 1] >> PFS_STACK_PART_BITS == part)
			continue;
		/* A pair holds the part in its upper bits and the series in the lower 32. */
		if (part < 0 || series[row] < 0 || series[row] > PG_UINT32_MAX)
			return false;
		numbers_insert(pairs, part << PFS_STACK_SERIES_BITS | series[row], &found);
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
	numbers_hash *pairs = numbers_create(CurrentMemoryContext, 1024, NULL);
	uint64 most = (uint64) rollup->series.count * MOST_PARTS_PER_SERIES;
	bool fits = true;
	PfsBlock block;

	while (fits && pfs_block_scan_next(scan, &block))
		fits = note_stack_series(block.values[0], block.values[1], block.row_count, pairs) &&
			   pairs->members <= most;
	pfs_block_scan_end(scan);
	/* An empty list means that the roll-up is read as a whole or not at all. */
	return fits ? list_numbers(pairs) : (PfsNumbers){ 0, NULL };
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
	numbers_hash *distinct = numbers_create(CurrentMemoryContext, 1024, NULL);
	PfsBlock block;

	while (pfs_block_scan_next(scan, &block))
		for (uint32 row = 0; row < block.row_count; row++)
		{
			bool found;

			if (row == 0 || block.values[0][row] != block.values[0][row - 1])
				numbers_insert(distinct, block.values[0][row], &found);
		}
	pfs_block_scan_end(scan);
	return list_numbers(distinct);
}
