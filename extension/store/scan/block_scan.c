/*
 * block_scan.c
 *		Reading blocks: choosing units and blocks, filtering rows, and only then decoding what is
 *		asked for.
 *
 * A scan stands on a block of a unit, before the first (unit -1) or behind the last (unit = count).
 * Streams are fetched when their first block is needed, so a segment whose header or filter columns
 * rule it out costs no more than those.
 */
#include "store/scan/block_scan.h"

#include "access/tupdesc.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "codec/segment.h"
#include "store/scan/block_filter.h"
#include "store/scan/scan_units.h"
#include "store/segment/codec_server.h"
#include "store/segment/lane.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"

/* A column that is asked for or filtered by. */
typedef struct ScanColumn
{
	AttrNumber attnum;
	PfsLaneKind kind;
	int64 missing_value; /* where a unit lacks the column */
	bool missing_is_null;
	bool is_wanted;			   /* false: a filter's alone */
	int position;			   /* in the part of the current unit; -1: missing */
	bool may_be_null;		   /* in the current unit */
	bool is_decoded;		   /* for the current block */
	const int64 *block_values; /* the current block */
	const bool *block_nulls;   /* NULL: none */
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
} ScanColumn;

/* A filter, and where it need not look at rows: all of the unit, or of the block, pass. */
typedef struct ScanFilter
{
	PfsBlockFilter filter;
	ScanColumn *column;
	int64 *keys; /* of a block, where lanes are not their own keys; else NULL */
	bool is_idle_in_unit;
	bool is_idle_in_block;
} ScanFilter;

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
	ScanFilter *filters;
	PfsSegmentPart sums; /* PFS_PART_ROWS: rows are wanted one by one */
	PfsRowKey key;

	PfsScanUnits units;
	PfsSharedScan *shared;
	int64 unit;
	int64 block;
	int64 block_end; /* of the unit, or in a shared scan of those that have come to this process */
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
	if (!attribute->attisdropped)
		column->kind = pfs_lane_kind(attribute->atttypid);
	column->missing_is_null =
		attribute->attisdropped ||
		!pfs_storage_missing_value(scan->relation, attnum, &column->missing_value);
	column->missing_value = pfs_lane_native(column->kind, column->missing_value);
	return column;
}

static PfsBlockScan *
begin(Relation relation, Snapshot snapshot, int attribute_count, const AttrNumber *attnums,
	  int filter_count, const PfsBlockFilter *filters, PfsSegmentPart sums,
	  const PfsNumbers *segments, int64 rollup_width, PfsSharedScan *shared)
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
	scan->key = pfs_row_key(relation);
	scan->unit = -1;

	scan->columns = palloc(sizeof(ScanColumn *) * (attributes + filter_slots));
	scan->attribute_count = attribute_count;
	scan->attributes = palloc(sizeof(ScanColumn *) * attributes);
	scan->result_values = palloc0(sizeof(int64 *) * attributes);
	scan->result_nulls = palloc0(sizeof(bool *) * attributes);
	for (int i = 0; i < attribute_count; i++)
		scan->attributes[i] = add_column(scan, attnums[i], true);

	scan->filter_count = filter_count;
	scan->filters = palloc0(sizeof(ScanFilter) * filter_slots);
	for (int i = 0; i < filter_count; i++)
	{
		ScanFilter *filter = &scan->filters[i];

		filter->filter = filters[i];
		filter->column = add_column(scan, filters[i].attnum, false);
		if (!pfs_lane_is_ordered(filter->column->kind))
			filter->keys = palloc(sizeof(int64) * PFS_BLOCK_ROWS);
	}

	PredicateLockRelation(relation, snapshot);
	if (segments == NULL)
		pfs_scan_units_list(relation, snapshot, filter_count, filters, shared, &scan->units);
	else
		pfs_scan_units_list_segments(relation, snapshot, filter_count, filters, *segments,
									 &scan->units);
	scan->counters.segments_total = scan->units.count + scan->units.skipped_count;
	scan->counters.segments_skipped = scan->units.skipped_count;
	/* processes that share a scan must come to the same units */
	if (scan->sums == PFS_PART_PAIRS && shared == NULL)
		pfs_scan_units_roll_up(relation, snapshot, attribute_count, attnums, filter_count, filters,
							   rollup_width, &scan->units);
	MemoryContextSwitchTo(outer);
	return scan;
}

PfsBlockScan *
pfs_block_scan_begin(Relation relation, Snapshot snapshot, int attribute_count,
					 const AttrNumber *attnums, int filter_count, const PfsBlockFilter *filters)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters, PFS_PART_ROWS,
				 NULL, 0, NULL);
}

PfsBlockScan *
pfs_block_scan_begin_sums(Relation relation, Snapshot snapshot, int attribute_count,
						  const AttrNumber *attnums, int filter_count,
						  const PfsBlockFilter *filters, PfsSegmentPart sums)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters, sums, NULL,
				 PG_INT64_MAX, NULL);
}

PfsBlockScan *
pfs_block_scan_begin_segments(Relation relation, Snapshot snapshot, int attribute_count,
							  const AttrNumber *attnums, int filter_count,
							  const PfsBlockFilter *filters, PfsNumbers segments,
							  int64 rollup_width)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters,
				 PFS_PART_PAIRS, &segments, rollup_width, NULL);
}

PfsBlockScan *
pfs_block_scan_begin_shared(Relation relation, Snapshot snapshot, int attribute_count,
							const AttrNumber *attnums, int filter_count,
							const PfsBlockFilter *filters, PfsSegmentPart sums,
							PfsSharedScan *shared)
{
	return begin(relation, snapshot, attribute_count, attnums, filter_count, filters, sums, NULL, 0,
				 shared);
}

void
pfs_block_scan_use_defaults(PfsBlockScan *scan, TupleDesc desc)
{
	for (uint32 i = 0; i < scan->column_count; i++)
	{
		ScanColumn *column = scan->columns[i];

		if (column->missing_is_null && column->attnum > 0 && column->attnum <= desc->natts &&
			!TupleDescAttr(desc, column->attnum - 1)->attisdropped)
			column->missing_is_null =
				!pfs_desc_missing_value(desc, column->attnum, &column->missing_value);
	}
}

static const PfsScanUnit *
current_unit(const PfsBlockScan *scan)
{
	return &scan->units.units[scan->unit];
}

/*
 * What a filter makes of values between two lanes, or of none where has_values is not set, and
 * perhaps nulls: false if no row passes, *is_idle if all do.
 */
static bool
filter_may_match(const ScanFilter *filter, bool has_values, int64 min, int64 max, bool may_be_null,
				 bool *is_idle)
{
	*is_idle = false;
	if (filter->filter.keeps_nulls)
	{
		*is_idle = !has_values;
		return !has_values || may_be_null;
	}
	if (!has_values)
		return false;
	pfs_lane_key_range(filter->column->kind, &min, &max);
	*is_idle = !may_be_null && pfs_filter_contains(&filter->filter, min, max);
	return pfs_filter_overlaps(&filter->filter, min, max);
}

/*
 * Whether the filters leave any row of the open unit, as far as the ranges of its columns tell;
 * marks those that all rows pass.
 */
static bool
unit_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->filter_count; i++)
	{
		ScanFilter *filter = &scan->filters[i];
		const ScanColumn *column = filter->column;
		int64 min = column->missing_value;
		int64 max = column->missing_value;
		bool has_values = !column->missing_is_null;

		filter->is_idle_in_unit = false;
		if (column->position >= 0 && scan->input == NULL)
			continue;
		if (column->position >= 0)
			has_values = pfs_reader_column_range(scan->reader, column->position, &min, &max);
		if (!filter_may_match(filter, has_values, min, max, column->may_be_null,
							  &filter->is_idle_in_unit))
			return false;
	}
	return true;
}

/* Whether a table of sums has one row for all rows of the same value of the column. */
static bool
is_key_of_sums(const PfsBlockScan *scan, AttrNumber attnum)
{
	AttrNumber second = scan->sums == PFS_PART_PAIRS ? scan->key.stack : scan->key.time;

	return attnum != InvalidAttrNumber && (attnum == scan->key.series || attnum == second);
}

/* Whether the open segment's table of sums tells what is asked for. */
static bool
sums_suffice(PfsBlockScan *scan)
{
	const PfsSegmentReader *sums = pfs_segment_part_reader(scan->input, scan->sums);

	if (sums == NULL || !pfs_summary_fits(scan->relation, sums, scan->sums))
		return false;
	for (int i = 0; i < scan->attribute_count; i++)
		if (pfs_reader_find_column(sums, scan->attributes[i]->attnum) < 0)
			return false;
	for (int i = 0; i < scan->filter_count; i++)
	{
		const ScanFilter *filter = &scan->filters[i];

		if (!filter->is_idle_in_unit && (!is_key_of_sums(scan, filter->filter.attnum) ||
										 pfs_reader_find_column(sums, filter->filter.attnum) < 0))
			return false;
	}
	return true;
}

/* Where the part of the open unit that is read has a column, and whether it may be null there. */
static void
find_column(PfsBlockScan *scan, ScanColumn *column)
{
	int value_stream;
	int null_stream;

	if (scan->input == NULL)
	{
		column->position = pfs_row_image_find_column(current_unit(scan)->image, column->attnum);
		column->may_be_null = column->position >= 0 || column->missing_is_null;
		return;
	}
	column->position = pfs_reader_find_column(scan->reader, column->attnum);
	column->may_be_null = column->missing_is_null;
	if (column->position >= 0)
	{
		pfs_reader_column_streams(scan->reader, column->position, &value_stream, &null_stream);
		column->may_be_null = null_stream >= 0;
	}
}

static void
choose_part(PfsBlockScan *scan, PfsSegmentPart part)
{
	scan->part = part;
	scan->reader = pfs_segment_part_reader(scan->input, part);
	scan->unit_rows = pfs_reader_row_count(scan->reader);
	for (uint32 i = 0; i < scan->column_count; i++)
		find_column(scan, scan->columns[i]);
}

/*
 * Where a shared scan reads sums in place of rows, the process that has the unit's first chunk
 * reads all of them.
 */
static void
set_block_end(PfsBlockScan *scan)
{
	int64 block_count = (scan->unit_rows + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;

	if (scan->part == PFS_PART_ROWS)
		return;
	scan->block_end = scan->block < 0 ? block_count : scan->block;
}

/* Opens the segment that the scan stands on, and decides what of it to read. */
static void
open_segment(PfsBlockScan *scan, const PfsScanUnit *unit)
{
	MemoryContext outer = MemoryContextSwitchTo(scan->unit_context);

	scan->input = pfs_segment_open(scan->relation, &unit->row);
	MemoryContextSwitchTo(outer);
	choose_part(scan, PFS_PART_ROWS);
	if (unit->rolled_up > 0)
	{
		scan->unit_is_skipped = false;
		for (int i = 0; i < scan->filter_count; i++)
			scan->filters[i].is_idle_in_unit = true;
		return;
	}
	scan->unit_is_skipped = !unit_may_match(scan);
	if (!scan->unit_is_skipped && scan->sums != PFS_PART_ROWS && sums_suffice(scan))
	{
		choose_part(scan, scan->sums);
		set_block_end(scan);
	}
}

static void
open_image(PfsBlockScan *scan)
{
	scan->part = PFS_PART_ROWS;
	scan->unit_rows = current_unit(scan)->image->row_count;
	for (uint32 i = 0; i < scan->column_count; i++)
		find_column(scan, scan->columns[i]);
	scan->unit_is_skipped = !unit_may_match(scan);
}

static void
open_unit(PfsBlockScan *scan)
{
	const PfsScanUnit *unit = current_unit(scan);
	/* of those that share a unit, the process that has its first chunk counts it */
	bool is_counted = scan->shared == NULL || scan->block < 0;

	MemoryContextReset(scan->unit_context);
	scan->unit_is_open = true;
	scan->input = NULL;
	if (unit->is_skipped)
		scan->unit_is_skipped = true;
	else if (unit->image != NULL)
		open_image(scan);
	else
		open_segment(scan, unit);

	if (!is_counted)
		return;
	if (scan->unit_is_skipped)
		scan->counters.segments_skipped++;
	else if (unit->rolled_up > 0)
		scan->counters.segments_summed += unit->rolled_up;
	else if (scan->part != PFS_PART_ROWS)
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

/* Lanes from before a change of the column's type, as they are written now. */
static void
make_native(ScanColumn *column, uint32 row_count)
{
	for (uint32 row = 0; row < row_count; row++)
		column->values[row] = pfs_lane_native(column->kind, column->block_values[row]);
	column->block_values = column->values;
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
	make_native(column, scan->block_rows);
}

static void
decode_segment(PfsBlockScan *scan, ScanColumn *column)
{
	PfsError error;
	PfsStatus status;
	bool has_nulls;
	int64 min;
	int64 max;

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
	/* sums are wider than what they are sums of */
	if ((scan->part == PFS_PART_ROWS || is_key_of_sums(scan, column->attnum)) &&
		pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min, &max) &&
		!pfs_lane_range_is_native(column->kind, min, max))
		make_native(column, scan->block_rows);
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

/* Whether the filters leave any row of the block, as far as the ranges of its columns tell. */
static bool
block_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->filter_count; i++)
	{
		ScanFilter *filter = &scan->filters[i];
		const ScanColumn *column = filter->column;
		int64 min = 0;
		int64 max = 0;
		bool has_values;

		filter->is_idle_in_block = filter->is_idle_in_unit;
		if (filter->is_idle_in_unit || scan->input == NULL)
			continue;
		load_column(scan, column);
		has_values = pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block,
											&min, &max);
		if (!filter_may_match(filter, has_values, min, max, column->may_be_null,
							  &filter->is_idle_in_block))
			return false;
	}
	return true;
}

/* The keys of a block's lanes; nulls have some. */
static const int64 *
block_keys(PfsBlockScan *scan, ScanFilter *filter)
{
	const ScanColumn *column = filter->column;

	if (filter->keys == NULL)
		return column->block_values;
	for (uint32 row = 0; row < scan->block_rows; row++)
		filter->keys[row] = pfs_lane_key(column->kind, column->block_values[row]);
	return filter->keys;
}

static void
select_rows(PfsBlockScan *scan)
{
	bool is_selection_made = scan->input == NULL;

	if (scan->input == NULL)
		select_image_rows(scan);
	else
		scan->selected_count = scan->block_rows;

	for (int i = 0; i < scan->filter_count && scan->selected_count > 0; i++)
	{
		ScanFilter *filter = &scan->filters[i];
		uint32 (*select)(const PfsBlockFilter *, const int64 *, const bool *, uint16 *, uint32);

		if (filter->is_idle_in_block)
			continue;
		decode_column(scan, filter->column);
		select = is_selection_made ? pfs_filter_select : pfs_filter_select_of_all;
		scan->selected_count =
			select(&filter->filter, block_keys(scan, filter), filter->column->block_nulls,
				   scan->selection, scan->selected_count);
		is_selection_made = true;
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
	block->has_sums = scan->part != PFS_PART_ROWS || current_unit(scan)->rolled_up > 0;
	return true;
}

/*
 * Takes the next chunk of a shared scan, which may be one more of the unit that is open; false at
 * the end. Chunks only rise, so the unit is looked for from the current one on.
 */
static bool
step_chunk(PfsBlockScan *scan)
{
	uint64 chunk = pg_atomic_fetch_add_u64(&scan->shared->next_chunk, 1);
	int64 count = scan->units.count;
	int64 unit = Max(scan->unit, 0);
	int64 first;

	while (unit < count && chunk >= scan->units.units[unit].first_chunk +
										pfs_scan_unit_chunk_count(&scan->units.units[unit]))
		unit++;
	if (unit != scan->unit)
		scan->unit_is_open = false;
	scan->unit = unit;
	if (unit >= count)
		return false;
	first = (int64) (chunk - current_unit(scan)->first_chunk) * PFS_CHUNK_BLOCKS;
	scan->block = first - 1;
	scan->block_end =
		Min(first + PFS_CHUNK_BLOCKS, (int64) pfs_scan_unit_block_count(current_unit(scan)));
	if (scan->unit_is_open)
		set_block_end(scan);
	return true;
}

/* Steps to the next or previous unit, or chunk of one; false at the end. */
static bool
step_unit(PfsBlockScan *scan, int direction)
{
	int64 count = scan->units.count;

	if (scan->shared != NULL)
		return step_chunk(scan);
	scan->unit = Max(-1, Min(scan->unit + direction, count));
	scan->unit_is_open = false;
	if (scan->unit < 0 || scan->unit >= count)
		return false;
	scan->block_end = (int64) pfs_scan_unit_block_count(current_unit(scan));
	scan->block = direction > 0 ? -1 : scan->block_end;
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
		if (scan->unit_is_skipped || scan->block < 0 || scan->block >= scan->block_end)
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
