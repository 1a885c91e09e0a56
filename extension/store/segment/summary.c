/*
 * summary.c
 *		Sums a segment's rows by (series, stack) and by (series, time).
 */
#include "store/segment/summary.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "store/segment/row_order.h"

/* A table of sums is worth its bytes only if it has at least this many rows per sum. */
#define LEAST_ROWS_PER_PAIR	  2
#define LEAST_ROWS_PER_SCRAPE 8

/* position of the row count among the columns of a table of sums */
#define ROW_COUNT_POSITION 2

bool pfs_enable_summaries = true;

typedef struct SumColumn
{
	const PfsColumn *source;
	int64 *sums;
	bool is_out_of_range;
} SumColumn;

/* A table of sums that is being built. Its arrays have limit entries. */
typedef struct SumTable
{
	const PfsColumn *series;
	const PfsColumn *second; /* stack or time */
	uint32 limit;			 /* most entries that the table may have */
	uint32 count;
	int64 *series_values;
	int64 *second_values;
	int64 *row_counts;
	uint32 column_count;
	SumColumn *columns;
} SumTable;

/* Position in the table of a time of the current series. */
typedef struct TimeEntry
{
	int64 time;
	uint32 position;
	char status;
} TimeEntry;

#define SH_PREFIX		   times
#define SH_ELEMENT_TYPE	   TimeEntry
#define SH_KEY_TYPE		   int64
#define SH_KEY			   time
#define SH_HASH_KEY(tb, k) murmurhash32((uint32) (k) ^ (uint32) ((uint64) (k) >> 32))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void
pfs_summary_init(void)
{
	DefineCustomBoolVariable("profstore.enable_summaries",
							 "Lets queries read stored sums instead of the samples.",
							 "Query results are the same.", &pfs_enable_summaries, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

uint32
pfs_summary_limit(PfsSegmentPart part, uint32 row_count)
{
	return row_count / (part == PFS_PART_PAIRS ? LEAST_ROWS_PER_PAIR : LEAST_ROWS_PER_SCRAPE);
}

static const PfsColumn *
summary_find_column(const PfsRows *rows, AttrNumber attnum)
{
	for (uint32 i = 0; i < rows->column_count; i++)
		if (attnum != InvalidAttrNumber && rows->columns[i].attnum == attnum)
			return &rows->columns[i];
	return NULL;
}

static int64 *
summary_new_values(uint32 count)
{
	return palloc_extended(sizeof(int64) * (Size) count, MCXT_ALLOC_HUGE);
}

bool
pfs_summary_adds_up(Relation relation, const PfsColumn *column)
{
	PfsRowKey key = pfs_row_key(relation);
	Oid type = getBaseType(TupleDescAttr(RelationGetDescr(relation), column->attnum - 1)->atttypid);

	/*
	 * Without all three key columns there is no table of sums that would read the sums of groups.
	 */
	if (key.series == InvalidAttrNumber || key.stack == InvalidAttrNumber ||
		key.time == InvalidAttrNumber)
		return false;
	return column->nulls == NULL && (type == INT2OID || type == INT4OID || type == INT8OID) &&
		   column->attnum != key.series && column->attnum != key.stack &&
		   column->attnum != key.time;
}

/* Sets up an empty table. Returns false if the rows cannot have one. */
static bool
summary_begin_table(Relation relation, const PfsRows *rows, PfsSegmentPart part, uint32 limit,
					SumTable *table)
{
	PfsRowKey key = pfs_row_key(relation);
	const PfsColumn *stack = summary_find_column(rows, key.stack);
	const PfsColumn *time = summary_find_column(rows, key.time);
	/*
	 * the key column over which this table sums; it may have been added after these rows were
	 * stored
	 */
	const PfsColumn *other = part == PFS_PART_PAIRS ? time : stack;

	memset(table, 0, sizeof(*table));
	table->series = summary_find_column(rows, key.series);
	table->second = part == PFS_PART_PAIRS ? stack : time;
	if (table->series == NULL || table->second == NULL || key.stack == InvalidAttrNumber ||
		key.time == InvalidAttrNumber || table->series->nulls != NULL ||
		table->second->nulls != NULL || (other != NULL && other->nulls != NULL))
		return false;
	/* A limit of 0 means so few rows that a table of sums would not be shorter. */
	table->limit = limit;
	if (limit == 0)
		return false;

	table->series_values = summary_new_values(table->limit);
	table->second_values = summary_new_values(table->limit);
	table->row_counts = summary_new_values(table->limit);
	table->columns = palloc0(sizeof(SumColumn) * rows->column_count);
	for (uint32 i = 0; i < rows->column_count; i++)
	{
		if (!pfs_summary_adds_up(relation, &rows->columns[i]))
			continue;
		table->columns[table->column_count].source = &rows->columns[i];
		table->columns[table->column_count++].sums = summary_new_values(table->limit);
	}
	return true;
}

static void
summary_add_entry(SumTable *table, int64 series, int64 second)
{
	uint32 position = table->count++;

	table->series_values[position] = series;
	table->second_values[position] = second;
	table->row_counts[position] = 0;
	for (uint32 i = 0; i < table->column_count; i++)
		table->columns[i].sums[position] = 0;
}

static inline void
summary_add_row(SumTable *table, uint32 position, uint32 row)
{
	table->row_counts[position]++;
	for (uint32 i = 0; i < table->column_count; i++)
	{
		SumColumn *column = &table->columns[i];

		/* An overflow leaves the column out of the table, and scans then read it from the rows. */
		column->is_out_of_range |=
			pg_add_s64_overflow(column->sums[position], column->source->values[row],
								&column->sums[position]);
	}
}

/*
 * Sums rows by (series, stack). If by_groups is true, the pairs will be the groups of the rows, so
 * a pair also ends at the end of a block. Returns false if there would be more pairs than limit.
 */
static bool
add_pairs(SumTable *table, uint32 row_count, bool by_groups)
{
	for (uint32 row = 0; row < row_count; row++)
	{
		int64 series = table->series->values[row];
		int64 stack = table->second->values[row];

		if (row == 0 || (by_groups && row % PFS_BLOCK_ROWS == 0) ||
			series != table->series_values[table->count - 1] ||
			stack != table->second_values[table->count - 1])
		{
			/* So many pairs would not be worth their bytes. */
			if (table->count == table->limit)
				return false;
			summary_add_entry(table, series, stack);
		}
		summary_add_row(table, table->count - 1, row);
	}
	return true;
}

/*
 * Sums rows first .. end - 1, which are of one series, by time. Returns false if the table would
 * have more scrapes than limit.
 */
static bool
summary_add_series(SumTable *table, times_hash *positions, int64 *distinct, uint32 first,
				   uint32 end)
{
	const int64 *times = table->second->values;
	uint32 count = 0;
	bool found;

	/* Positions are those of one series; the table of the series before is of no use. */
	times_reset(positions);
	for (uint32 row = first; row < end; row++)
	{
		times_insert(positions, times[row], &found);
		if (found)
			continue;
		if (table->count + count == table->limit)
			return false;
		distinct[count++] = times[row];
	}
	/* the rows are sorted by stack before time, so the times are not in order */
	qsort(distinct, count, sizeof(int64), pfs_compare_int64);
	for (uint32 i = 0; i < count; i++)
	{
		times_lookup(positions, distinct[i])->position = table->count;
		summary_add_entry(table, table->series->values[first], distinct[i]);
	}
	for (uint32 row = first; row < end; row++)
		summary_add_row(table, times_lookup(positions, times[row])->position, row);
	return true;
}

/* Adds the sums by series and time. Returns false if there are more than the limit. */
static bool
summary_add_scrapes(SumTable *table, uint32 row_count)
{
	times_hash *positions = times_create(CurrentMemoryContext, 256, NULL);
	int64 *distinct = summary_new_values(table->limit);
	const int64 *series = table->series->values;
	uint32 end;

	for (uint32 first = 0; first < row_count; first = end)
	{
		CHECK_FOR_INTERRUPTS();
		/* Rows are sorted by series, so those of one series are neighbours. */
		for (end = first + 1; end < row_count && series[end] == series[first]; end++)
			;
		if (!summary_add_series(table, positions, distinct, first, end))
			return false;
	}
	return true;
}

static void
put_column(PfsColumn *column, AttrNumber attnum, uint8 width, const int64 *values)
{
	*column = (PfsColumn){ .attnum = attnum, .width = width, .values = values };
}

/* Returns true if the base stores the sums of a column itself. */
static bool
has_sums(const PfsSegmentReader *base, AttrNumber attnum)
{
	int column = base == NULL ? -1 : pfs_reader_find_column(base, attnum);

	return column >= 0 && pfs_reader_sums_stream(base, column) >= 0;
}

/* Describes the table as columns to encode. base, if not NULL, has one group per entry. */
static void
finish_table(const SumTable *table, const PfsSegmentReader *base, PfsRows *sums)
{
	PfsColumn *columns = palloc(sizeof(PfsColumn) * (table->column_count + 3));
	uint32 count = 0;

	put_column(&columns[count++], table->series->attnum, table->series->width,
			   table->series_values);
	put_column(&columns[count++], table->second->attnum, table->second->width,
			   table->second_values);
	Assert(count == ROW_COUNT_POSITION);
	put_column(&columns[count++], PFS_ROW_COUNT_ATTNUM, sizeof(int32), table->row_counts);
	for (uint32 i = 0; i < count; i++)
		/*
		 * The base has series and stack as its keys, and the row count as the length of each group.
		 */
		columns[i].is_shared = base != NULL;
	for (uint32 i = 0; i < table->column_count; i++)
	{
		const SumColumn *column = &table->columns[i];

		if (column->is_out_of_range)
			continue;
		put_column(&columns[count], column->source->attnum, sizeof(int64), column->sums);
		/*
		 * Otherwise store only the difference from a multiple of the row count, with which sums of
		 * samples grow.
		 */
		if (has_sums(base, column->source->attnum))
			columns[count].is_shared = true;
		else
			columns[count].row_counts = table->row_counts;
		/* a table that shares nothing stores sums relative to its own row counts */
		if (base == NULL)
			columns[count].measure = ROW_COUNT_POSITION;
		count++;
	}
	memset(sums, 0, sizeof(*sums));
	sums->columns = columns;
	sums->column_count = count;
	sums->row_count = table->count;
}

bool
pfs_summary_make(Relation relation, const PfsRows *rows, PfsSegmentPart part, uint32 limit,
				 const PfsSegmentReader *base, PfsRows *sums)
{
	uint32 group_count = base == NULL ? 0 : pfs_reader_group_count(base);
	bool by_groups = part == PFS_PART_PAIRS && group_count > 0;
	SumTable table;

	if (!summary_begin_table(relation, rows, part, limit, &table))
		return false;
	if (part == PFS_PART_PAIRS ? !add_pairs(&table, rows->row_count, by_groups)
							   : !summary_add_scrapes(&table, rows->row_count))
		return false;
	/* Shared columns are read by the number of the group, so pairs and groups must be the same. */
	if (by_groups && table.count != group_count)
		elog(ERROR, "segment of %u groups has %u pairs", group_count, table.count);
	finish_table(&table, by_groups ? base : NULL, sums);
	return true;
}

bool
pfs_summary_fits(Relation relation, const PfsSegmentReader *sums, PfsSegmentPart part)
{
	PfsRowKey key = pfs_row_key(relation);
	AttrNumber second = part == PFS_PART_PAIRS ? key.stack : key.time;
	AttrNumber other = part == PFS_PART_PAIRS ? key.time : key.stack;

	/*
	 * Columns may have been renamed since the sums were made: positions 0 and 1 show by which
	 * columns they were summed.
	 */
	return other != InvalidAttrNumber && pfs_reader_find_column(sums, key.series) == 0 &&
		   pfs_reader_find_column(sums, second) == 1 && pfs_reader_find_column(sums, other) < 0;
}
