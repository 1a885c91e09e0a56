/*
 * open_unit.c
 *		Opens rows or sums of a segment, or rows in memory.
 *
 * 1. The header has the range of each column, which shows whether any row can pass the filters. A
 *    unit without such rows is skipped before a stream is fetched.
 * 2. If all rows pass a filter, it is idle in the unit.
 * 3. If sums are asked for, and filters keep or drop each sum as a whole, the scan reads a table of
 *    sums instead of the rows: the shortest one that has all attributes.
 */
#include "store/scan/open_unit.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "store/scan/rollup.h"
#include "store/segment/codec_server.h"
#include "store/segment/segment_input.h"

bool
pfs_scan_filter_may_match(const PfsScanFilter *filter, bool has_values, int64 min, int64 max,
						  bool may_be_null, bool *is_idle)
{
	*is_idle = false;
	/* The filter is IS NULL: all rows pass if there is no value, and none if there is no null. */
	if (filter->filter.keeps_nulls)
	{
		*is_idle = !has_values;
		return !has_values || may_be_null;
	}
	if (!has_values)
		return false;
	pfs_value_key_range(filter->column->kind, &min, &max);
	/* Nulls do not pass, so the filter must run if there may be any. */
	*is_idle = !may_be_null && pfs_filter_contains(&filter->filter, min, max);
	return pfs_filter_overlaps(&filter->filter, min, max);
}

/*
 * Tests the filters against the unit's column ranges. Returns false if no row can match; marks
 * filters that every row passes as idle.
 */
static bool
unit_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->filter_count; i++)
	{
		PfsScanFilter *filter = &scan->filters[i];
		const PfsScanColumn *column = filter->column;
		int64 min = column->missing_value;
		int64 max = column->missing_value;
		bool has_values = !column->missing_is_null;

		filter->is_idle_in_unit = false;
		/* An image of rows in memory has no ranges, so the filter is tested row by row. */
		if (column->position >= 0 && scan->input == NULL)
			continue;
		if (column->position >= 0)
			has_values = pfs_reader_column_range(scan->reader, column->position, &min, &max);
		/* For a column that the unit lacks, min and max are its missing value. */
		if (!pfs_scan_filter_may_match(filter, has_values, min, max, column->may_be_null,
									   &filter->is_idle_in_unit))
			return false;
	}
	return true;
}

bool
pfs_scan_is_key_of_sums(const PfsBlockScan *scan, PfsSegmentPart part, AttrNumber attnum)
{
	AttrNumber second = part == PFS_PART_PAIRS ? scan->key.stack : scan->key.time;

	return attnum != InvalidAttrNumber && (attnum == scan->key.series || attnum == second);
}

/*
 * Returns true if the part of the open segment has all attributes, and filters keep or drop each of
 * its sums as a whole.
 */
static bool
sums_suffice(PfsBlockScan *scan, PfsSegmentPart part)
{
	const PfsSegmentReader *sums = pfs_segment_part_reader(scan->input, part);

	if (sums == NULL || !pfs_summary_fits(scan->relation, sums, part))
		return false;
	for (int i = 0; i < scan->attribute_count; i++)
	{
		AttrNumber attnum = scan->attributes[i]->attnum;

		/* an attribute to be summed must not be a key of this table */
		if (pfs_reader_find_column(sums, attnum) < 0 ||
			/*
			 * In the other table of sums this attribute is a key, by which rows were grouped, and
			 * not a sum.
			 */
			(pfs_scan_is_key_of_sums(scan, part, attnum) &&
			 !pfs_scan_is_key_of_sums(scan, scan->sums, attnum)))
			return false;
	}
	for (int i = 0; i < scan->filter_count; i++)
	{
		const PfsScanFilter *filter = &scan->filters[i];

		/*
		 * A filter on a key keeps or drops each sum as a whole; any other one would have to look at
		 * the rows.
		 */
		if (!filter->is_idle_in_unit &&
			(!pfs_scan_is_key_of_sums(scan, part, filter->filter.attnum) ||
			 pfs_reader_find_column(sums, filter->filter.attnum) < 0))
			return false;
	}
	return true;
}

/* Returns the shortest part of the open segment that has all that the request needs. */
static PfsSegmentPart
shortest_part(PfsBlockScan *scan)
{
	PfsSegmentPart shortest = PFS_PART_ROWS;
	uint32 row_count = pfs_reader_row_count(scan->reader);

	for (PfsSegmentPart part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
	{
		const PfsSegmentReader *sums = pfs_segment_part_reader(scan->input, part);

		/* sums_suffice() is false if the segment lacks the part, so sums is not NULL afterwards. */
		if (!sums_suffice(scan, part) || pfs_reader_row_count(sums) > row_count)
			continue;
		shortest = part;
		row_count = pfs_reader_row_count(sums);
	}
	return shortest;
}

/* Finds a column in that part of the open unit which is read. */
static void
open_unit_find_column(PfsBlockScan *scan, PfsScanColumn *column)
{
	int value_stream;
	int null_stream;

	if (scan->input == NULL)
	{
		column->position =
			pfs_row_image_find_column(pfs_scan_current_unit(scan)->image, column->attnum);
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
	/* A column has another position in each part. */
	for (uint32 i = 0; i < scan->column_count; i++)
		open_unit_find_column(scan, scan->columns[i]);
	scan->has_groups = part == PFS_PART_ROWS && pfs_reader_group_count(scan->reader) > 0;
}

void
pfs_scan_load_column(PfsBlockScan *scan, const PfsScanColumn *column)
{
	/* The reader keeps pointers to the bytes, so they must live as long as the unit. */
	MemoryContext outer = MemoryContextSwitchTo(scan->unit_context);

	scan->counters.bytes_read +=
		pfs_segment_load_part_column(scan->input, scan->part, column->position);
	MemoryContextSwitchTo(outer);
}

void
pfs_scan_set_block_end(PfsBlockScan *scan)
{
	int64 block_count = (scan->unit_rows + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;

	if (scan->part == PFS_PART_ROWS)
		return;
	/*
	 * Chunks of a shared scan count the blocks of rows. The process that has the first chunk (block
	 * is -1) reads all blocks of the sums; for any other chunk none is left.
	 */
	scan->block_end = scan->block < 0 ? block_count : scan->block;
}

/*
 * Makes the filters idle in a roll-up, because its sums have passed them already. A piece still
 * needs the filter on series. Adds a filter if only some parts of the stacks are wanted.
 */
static void
set_rollup_filters(PfsBlockScan *scan, const PfsScanUnit *unit)
{
	scan->unit_is_skipped = false;
	for (int i = 0; i < scan->filter_count; i++)
		scan->filters[i].is_idle_in_unit =
			!unit->has_series || scan->filters[i].filter.attnum != scan->key.series;
	/* NULL: all parts of the stacks are wanted. */
	if (unit->parts.numbers == NULL)
		return;
	scan->filters[scan->unit_filter_count++] =
		(PfsScanFilter){ .filter = { .attnum = scan->part_column->attnum,
									 .low = PG_INT64_MIN,
									 .high = PG_INT64_MAX,
									 .keys = unit->parts.numbers,
									 .key_count = unit->parts.count,
									 .key_shift = PFS_STACK_PART_BITS },
						 .column = scan->part_column };
}

/* Opens the current segment, and decides which part of it to read. */
static void
open_segment(PfsBlockScan *scan, const PfsScanUnit *unit)
{
	MemoryContext outer = MemoryContextSwitchTo(scan->unit_context);

	scan->input = pfs_segment_open(scan->relation, &unit->row);
	MemoryContextSwitchTo(outer);
	choose_part(scan, PFS_PART_ROWS);
	if (unit->is_rollup)
	{
		set_rollup_filters(scan, unit);
		return;
	}
	scan->unit_is_skipped = !unit_may_match(scan);
	/* the column of verdicts may be missing in sums */
	if (!scan->unit_is_skipped && scan->sums != PFS_PART_ROWS && scan->verdicts == NULL)
	{
		choose_part(scan, shortest_part(scan));
		pfs_scan_set_block_end(scan);
	}
}

static void
open_image(PfsBlockScan *scan)
{
	scan->part = PFS_PART_ROWS;
	scan->unit_rows = pfs_scan_current_unit(scan)->image->row_count;
	for (uint32 i = 0; i < scan->column_count; i++)
		open_unit_find_column(scan, scan->columns[i]);
	scan->unit_is_skipped = !unit_may_match(scan);
}

void
pfs_scan_open_unit(PfsBlockScan *scan)
{
	const PfsScanUnit *unit = pfs_scan_current_unit(scan);
	/* in a shared scan the process with the unit's first chunk counts the unit */
	bool is_counted = scan->shared == NULL || scan->block < 0;

	/* Frees the unit before, with its reader and bytes. */
	MemoryContextReset(scan->unit_context);
	scan->unit_is_open = true;
	scan->unit_filter_count = scan->filter_count;
	scan->input = NULL;
	scan->groups.verdicts = NULL;
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
	else if (unit->is_rollup)
		scan->counters.segments_summed += unit->rolled_up;
	else if (scan->part != PFS_PART_ROWS)
		scan->counters.segments_summed++;
	else
		scan->counters.segments_read++;
}

void
pfs_scan_block_error(PfsBlockScan *scan, PfsStatus status, PfsError *error)
{
	/* The codec numbers the streams of a part, the message those of the whole segment. */
	error->stream += (int) pfs_segment_first_stream(scan->input, scan->part);
	pfs_segment_error(scan->relation, pfs_scan_current_unit(scan)->row.segment_no, status, error);
}
