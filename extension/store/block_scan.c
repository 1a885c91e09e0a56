/*
 * block_scan.c
 *		Reading blocks: choosing units and blocks, filtering rows, and only then decoding what is
 *		asked for.
 *
 * A scan stands on a block of a unit, before the first (unit -1) or behind the last (unit = count).
 * Streams are fetched when their first block is needed, so a segment whose header or filter columns
 * rule it out costs no more than those.
 */
#include "store/block_scan.h"

#include "access/tupdesc.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "codec/segment.h"
#include "store/block_filter.h"
#include "store/lane.h"
#include "store/scan_units.h"
#include "store/segment_io.h"
#include "store/storage.h"

/* A column that is asked for or filtered by. */
typedef struct ScanColumn
{
	AttrNumber attnum;
	int64 missing_value; /* where a unit lacks the column */
	bool missing_is_null;
	bool is_wanted;			   /* false: a filter's alone */
	int position;			   /* in the part of the current unit; -1: missing */
	bool is_decoded;		   /* for the current block */
	const int64 *block_values; /* the current block */
	const bool *block_nulls;   /* NULL: none */
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
} ScanColumn;

struct PfsBlockScan
{
	MemoryContext context;
	MemoryContext unit_context; /* reset when the unit changes */
	Relation relation;
	Snapshot snapshot;
	PfsScanCounters counters;

	uint32 column_count;
	ScanColumn **columns;
	int attribute_count;
	ScanColumn **attributes; /* the columns asked for, as asked for */
	const int64 **result_values;
	const bool **result_nulls;
	int filter_count;
	PfsBlockFilter *filters;
	ScanColumn **filter_columns;
	bool *filter_is_idle; /* all rows of the open unit pass */
	PfsSegmentPart sums;  /* PFS_PART_ROWS: rows are wanted one by one */

	PfsScanUnits units;
	PfsSharedScan *shared;
	int64 unit;
	int64 block;
	bool unit_is_open;
	bool unit_is_skipped;	/* the open unit has no row for the filters */
	PfsSegmentInput *input; /* NULL: the unit is an image */
	PfsSegmentPart part;	/* what of the input is read … */
	PfsSegmentReader *reader;
	uint32 unit_rows; /* … and how many rows that has */

	uint32 block_rows; /* of the current block, before filters */
	uint32 selected_count;
	uint16 selection[PFS_BLOCK_ROWS];
};

static ScanColumn *
add_column(PfsBlockScan *scan, AttrNumber attnum, bool is_wanted)
{
	TupleDesc desc = RelationGetDescr(scan->relation);
	ScanColumn *column;
	Form_pg_attribute attribute;

	for (uint32 i = 0; i < scan->column_count; i++)
		if (scan->columns[i]->attnum == attnum)
		{
			scan->columns[i]->is_wanted |= is_wanted;
			return scan->columns[i];
		}

	column = palloc0(sizeof(ScanColumn));
	column->attnum = attnum;
	column->is_wanted = is_wanted;
	scan->columns[scan->column_count++] = column;
	if (attnum == PFS_ROW_COUNT_ATTNUM)
	{
		/* a row stands for itself */
		column->missing_value = 1;
		return column;
	}
	if (attnum <= 0 || attnum > desc->natts)
		elog(ERROR, "table \"%s\" has no column number %d", RelationGetRelationName(scan->relation),
			 attnum);
	attribute = TupleDescAttr(desc, attnum - 1);
	column->missing_is_null =
		attribute->attisdropped ||
		!pfs_storage_missing_value(scan->relation, attnum, &column->missing_value);
	return column;
}

static PfsBlockScan *
begin(Relation relation, Snapshot snapshot, int attribute_count, const AttrNumber *attnums,
	  int filter_count, const PfsBlockFilter *filters, PfsSegmentPart sums, PfsSharedScan *shared)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsBlockScan *scan = palloc0(sizeof(PfsBlockScan));
	Size attributes = (Size) Max(attribute_count, 1);
	Size filter_slots = (Size) Max(filter_count, 1);

	scan->context = context;
	scan->unit_context =
		AllocSetContextCreate(context, "profstore scan unit", ALLOCSET_DEFAULT_SIZES);
	scan->relation = relation;
	scan->snapshot = snapshot;
	scan->shared = shared;
	scan->sums = pfs_enable_summaries ? sums : PFS_PART_ROWS;
	scan->unit = -1;

	scan->columns = palloc(sizeof(ScanColumn *) * (attributes + filter_slots));
	scan->attribute_count = attribute_count;
	scan->attributes = palloc(sizeof(ScanColumn *) * attributes);
	scan->result_values = palloc0(sizeof(int64 *) * attributes);
	scan->result_nulls = palloc0(sizeof(bool *) * attributes);
	for (int i = 0; i < attribute_count; i++)
		scan->attributes[i] = add_column(scan, attnums[i], true);

	scan->filter_count = filter_count;
	scan->filters = palloc(sizeof(PfsBlockFilter) * filter_slots);
	scan->filter_columns = palloc(sizeof(ScanColumn *) * filter_slots);
	scan->filter_is_idle = palloc0(sizeof(bool) * filter_slots);
	for (int i = 0; i < filter_count; i++)
	{
		scan->filters[i] = filters[i];
		scan->filter_columns[i] = add_column(scan, filters[i].attnum, false);
	}

	PredicateLockRelation(relation, snapshot);
	pfs_scan_units_list(relation, snapshot, filter_count, filters, shared, &scan->units);
	scan->counters.segments_total = scan->units.count + scan->units.skipped_count;
	scan->counters.segments_skipped = scan->units.skipped_count;
	MemoryContextSwitchTo(outer);
	return scan;
}

PfsBlockScan *
pfs_block_scan_begin(Relation relation, Snapshot snapshot, int attribute_count,
					 const AttrNumber *attnums, int filter_count, const PfsBlockFilter *filters)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters, PFS_PART_ROWS,
				 NULL);
}

PfsBlockScan *
pfs_block_scan_begin_sums(Relation relation, Snapshot snapshot, int attribute_count,
						  const AttrNumber *attnums, int filter_count,
						  const PfsBlockFilter *filters, PfsSegmentPart sums)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters, sums, NULL);
}

PfsBlockScan *
pfs_block_scan_begin_shared(Relation relation, Snapshot snapshot, int attribute_count,
							const AttrNumber *attnums, PfsSharedScan *shared)
{
	return begin(relation, snapshot, attribute_count, attnums, 0, NULL, PFS_PART_ROWS, shared);
}

static const PfsScanUnit *
current_unit(const PfsBlockScan *scan)
{
	return &scan->units.units[scan->unit];
}

/* Whether a column's range tells that no row of a segment's part is null or fails the filter. */
static bool
all_rows_pass(const PfsSegmentReader *reader, const PfsBlockFilter *filter)
{
	int column = pfs_reader_find_column(reader, filter->attnum);
	int values;
	int nulls;
	int64 min;
	int64 max;

	if (column < 0)
		return false;
	pfs_reader_column_streams(reader, column, &values, &nulls);
	return nulls < 0 && pfs_reader_column_range(reader, column, &min, &max) &&
		   pfs_filter_contains(filter, min, max);
}

/* Whether the open segment's table of sums tells what is asked for. */
static bool
sums_suffice(PfsBlockScan *scan)
{
	const PfsSegmentReader *rows = pfs_segment_reader(scan->input);
	const PfsSegmentReader *sums = pfs_segment_part_reader(scan->input, scan->sums);

	if (sums == NULL)
		return false;
	for (int i = 0; i < scan->attribute_count; i++)
		if (pfs_reader_find_column(sums, scan->attributes[i]->attnum) < 0)
			return false;
	for (int i = 0; i < scan->filter_count; i++)
		if (pfs_reader_find_column(sums, scan->filters[i].attnum) < 0 &&
			!all_rows_pass(rows, &scan->filters[i]))
			return false;
	return true;
}

/* Whether the filters leave any row of the open unit, as far as its columns' ranges tell. */
static bool
unit_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->filter_count; i++)
	{
		const ScanColumn *column = scan->filter_columns[i];
		int64 min;
		int64 max;

		if (scan->filter_is_idle[i])
			continue;
		if (column->position < 0)
		{
			if (column->missing_is_null ||
				!pfs_filter_passes(&scan->filters[i], column->missing_value))
				return false;
		}
		else if (scan->input != NULL)
		{
			if (!pfs_reader_column_range(scan->reader, column->position, &min, &max) ||
				!pfs_filter_overlaps(&scan->filters[i], min, max))
				return false;
		}
	}
	return true;
}

/* Opens the segment that the scan stands on, and decides what of it to read. */
static void
open_segment(PfsBlockScan *scan, const PfsSegmentRow *row)
{
	MemoryContext outer = MemoryContextSwitchTo(scan->unit_context);
	const PfsSegmentReader *rows;

	scan->input = pfs_segment_open(scan->relation, row);
	rows = pfs_segment_reader(scan->input);
	for (int i = 0; i < scan->filter_count; i++)
		scan->filter_is_idle[i] = all_rows_pass(rows, &scan->filters[i]);
	scan->part = scan->sums != PFS_PART_ROWS && sums_suffice(scan) ? scan->sums : PFS_PART_ROWS;
	scan->reader = pfs_segment_part_reader(scan->input, scan->part);
	scan->unit_rows = pfs_reader_row_count(scan->reader);
	MemoryContextSwitchTo(outer);
}

static void
open_unit(PfsBlockScan *scan)
{
	const PfsScanUnit *unit = current_unit(scan);

	MemoryContextReset(scan->unit_context);
	scan->input = NULL;
	if (unit->image == NULL)
		open_segment(scan, &unit->row);
	else
	{
		memset(scan->filter_is_idle, 0, sizeof(bool) * (Size) scan->filter_count);
		scan->unit_rows = unit->image->row_count;
	}
	for (uint32 i = 0; i < scan->column_count; i++)
	{
		ScanColumn *column = scan->columns[i];

		if (scan->input != NULL)
			column->position = pfs_reader_find_column(scan->reader, column->attnum);
		else
			column->position = pfs_row_image_find_column(unit->image, column->attnum);
	}
	scan->unit_is_open = true;
	scan->unit_is_skipped = !unit_may_match(scan);
	if (scan->unit_is_skipped)
		scan->counters.segments_skipped++;
	else if (scan->input != NULL && scan->part != PFS_PART_ROWS)
		scan->counters.segments_summed++;
	else
		scan->counters.segments_read++;
}

static void
load_column(PfsBlockScan *scan, const ScanColumn *column)
{
	MemoryContext outer = MemoryContextSwitchTo(scan->unit_context);

	scan->counters.bytes_read +=
		pfs_segment_load_part_column(scan->input, scan->part, column->position);
	MemoryContextSwitchTo(outer);
}

static void
decode_missing(ScanColumn *column)
{
	for (int i = 0; i < PFS_BLOCK_ROWS; i++)
		column->values[i] = column->missing_value;
	memset(column->nulls, column->missing_is_null, sizeof(column->nulls));
	column->block_values = column->values;
	column->block_nulls = column->missing_is_null ? column->nulls : NULL;
}

static void
decode_image(PfsBlockScan *scan, ScanColumn *column)
{
	const PfsRowImage *image = current_unit(scan)->image;
	Size first = (Size) scan->block * PFS_BLOCK_ROWS;

	column->block_values = pfs_row_image_values(image, column->position) + first;
	column->block_nulls = pfs_row_image_nulls(image, column->position) + first;
	if (memchr(column->block_nulls, true, scan->block_rows) == NULL)
		column->block_nulls = NULL;
}

static void
decode_segment(PfsBlockScan *scan, ScanColumn *column)
{
	PfsError error;
	PfsStatus status;
	bool has_nulls;

	load_column(scan, column);
	status = pfs_reader_block(scan->reader, column->position, (uint32) scan->block, column->values,
							  column->nulls, &has_nulls, &error);
	if (status != PFS_OK)
	{
		error.stream += (int) pfs_segment_first_stream(scan->input, scan->part);
		pfs_segment_error(scan->relation, current_unit(scan)->row.segment_no, status, &error);
	}
	column->block_values = column->values;
	column->block_nulls = has_nulls ? column->nulls : NULL;
}

static void
decode_column(PfsBlockScan *scan, ScanColumn *column)
{
	if (column->is_decoded)
		return;
	if (column->position < 0)
		decode_missing(column);
	else if (scan->input == NULL)
		decode_image(scan, column);
	else
		decode_segment(scan, column);
	column->is_decoded = true;
}

/* Selects the rows of an image's block that the snapshot sees: those of commands before its own. */
static void
select_image_rows(PfsBlockScan *scan)
{
	const PfsRowImage *image = current_unit(scan)->image;
	const PfsRun *runs = pfs_row_image_runs(image);
	uint32 first = (uint32) scan->block * PFS_BLOCK_ROWS;
	uint32 run = 0;
	uint32 high = image->run_count;

	/* the last run that begins at or before the block */
	while (high - run > 1)
	{
		uint32 middle = run + (high - run) / 2;

		if (runs[middle].first_row <= first)
			run = middle;
		else
			high = middle;
	}
	scan->selected_count = 0;
	for (uint32 row = 0; row < scan->block_rows; row++)
	{
		if (run + 1 < image->run_count && runs[run + 1].first_row <= first + row)
			run++;
		if (!IsMVCCSnapshot(scan->snapshot) || runs[run].command_id < scan->snapshot->curcid)
			scan->selection[scan->selected_count++] = (uint16) row;
	}
}

/* Whether a filter rules the block out by the range of its values. */
static bool
block_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->filter_count; i++)
	{
		ScanColumn *column = scan->filter_columns[i];
		int64 min;
		int64 max;

		if (scan->filter_is_idle[i] || column->position < 0 || scan->input == NULL)
			continue;
		load_column(scan, column);
		if (!pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min,
									&max) ||
			!pfs_filter_overlaps(&scan->filters[i], min, max))
			return false;
	}
	return true;
}

static void
select_rows(PfsBlockScan *scan)
{
	if (scan->input == NULL)
		select_image_rows(scan);
	else
	{
		scan->selected_count = scan->block_rows;
		for (uint32 i = 0; i < scan->block_rows && scan->filter_count > 0; i++)
			scan->selection[i] = (uint16) i;
	}

	for (int i = 0; i < scan->filter_count && scan->selected_count > 0; i++)
	{
		ScanColumn *column = scan->filter_columns[i];

		if (scan->filter_is_idle[i])
			continue;
		decode_column(scan, column);
		scan->selected_count =
			pfs_filter_select(&scan->filters[i], column->block_values, column->block_nulls,
							  scan->selection, scan->selected_count);
	}
}

/* Moves the selected rows of a column together, in its own arrays: row numbers only ever shrink. */
static void
gather_column(PfsBlockScan *scan, ScanColumn *column)
{
	for (uint32 i = 0; i < scan->selected_count; i++)
		column->values[i] = column->block_values[scan->selection[i]];
	column->block_values = column->values;
	if (column->block_nulls != NULL)
	{
		for (uint32 i = 0; i < scan->selected_count; i++)
			column->nulls[i] = column->block_nulls[scan->selection[i]];
		column->block_nulls = column->nulls;
	}
}

/* Reads the block that the scan stands on; false where no row of it is wanted. */
static bool
read_block(PfsBlockScan *scan, PfsBlock *block)
{
	scan->block_rows = Min(PFS_BLOCK_ROWS, scan->unit_rows - (uint32) scan->block * PFS_BLOCK_ROWS);
	for (uint32 i = 0; i < scan->column_count; i++)
		scan->columns[i]->is_decoded = false;

	scan->selected_count = 0;
	if (block_may_match(scan))
		select_rows(scan);
	if (scan->selected_count == 0)
	{
		scan->counters.blocks_skipped++;
		return false;
	}

	scan->counters.blocks_read++;
	for (uint32 i = 0; i < scan->column_count; i++)
	{
		ScanColumn *column = scan->columns[i];

		if (!column->is_wanted)
			continue;
		decode_column(scan, column);
		if (scan->selected_count < scan->block_rows)
			gather_column(scan, column);
	}
	for (int i = 0; i < scan->attribute_count; i++)
	{
		scan->result_values[i] = scan->attributes[i]->block_values;
		scan->result_nulls[i] = scan->attributes[i]->block_nulls;
	}
	block->number = current_unit(scan)->first_block + (uint64) scan->block;
	block->row_count = scan->selected_count;
	block->values = scan->result_values;
	block->nulls = scan->result_nulls;
	return true;
}

/* Steps to the next or previous unit; false at the end. */
static bool
step_unit(PfsBlockScan *scan, int direction)
{
	int64 count = scan->units.count;

	if (scan->shared != NULL)
		scan->unit = pg_atomic_fetch_add_u32(&scan->shared->next_unit, 1);
	else
		scan->unit += direction;
	scan->unit = Max(-1, Min(scan->unit, count));
	scan->unit_is_open = false;
	if (scan->unit < 0 || scan->unit >= count)
		return false;
	scan->block = direction > 0 ? -1 : (int64) pfs_scan_unit_block_count(current_unit(scan));
	return true;
}

static bool
on_unit(const PfsBlockScan *scan)
{
	return scan->unit >= 0 && scan->unit < scan->units.count;
}

static bool
step(PfsBlockScan *scan, int direction, PfsBlock *block)
{
	for (;;)
	{
		if (!on_unit(scan))
		{
			if (!step_unit(scan, direction))
				return false;
		}
		CHECK_FOR_INTERRUPTS();
		if (!scan->unit_is_open)
			open_unit(scan);
		scan->block += direction;
		if (scan->unit_is_skipped || scan->block < 0 ||
			scan->block * PFS_BLOCK_ROWS >= (int64) scan->unit_rows)
		{
			if (!step_unit(scan, direction))
				return false;
			continue;
		}
		if (read_block(scan, block))
			return true;
	}
}

bool
pfs_block_scan_next(PfsBlockScan *scan, PfsBlock *block)
{
	return step(scan, 1, block);
}

bool
pfs_block_scan_previous(PfsBlockScan *scan, PfsBlock *block)
{
	Assert(scan->shared == NULL);
	return step(scan, -1, block);
}

void
pfs_block_scan_rewind(PfsBlockScan *scan)
{
	scan->unit = -1;
	scan->unit_is_open = false;
}

void
pfs_block_scan_skip(PfsBlockScan *scan, uint64 block_count)
{
	if (!on_unit(scan) && !step_unit(scan, 1))
		return;
	for (;;)
	{
		uint64 left = pfs_scan_unit_block_count(current_unit(scan)) - (uint64) (scan->block + 1);

		if (block_count < left)
		{
			scan->block += (int64) block_count;
			return;
		}
		block_count -= left;
		if (!step_unit(scan, 1))
			return;
	}
}

uint64
pfs_block_scan_row_count(const PfsBlockScan *scan)
{
	return scan->units.row_count;
}

uint64
pfs_block_scan_block_count(const PfsBlockScan *scan)
{
	return scan->units.block_count;
}

const PfsScanCounters *
pfs_block_scan_counters(const PfsBlockScan *scan)
{
	return &scan->counters;
}

void
pfs_block_scan_end(PfsBlockScan *scan)
{
	MemoryContextDelete(scan->context);
}
