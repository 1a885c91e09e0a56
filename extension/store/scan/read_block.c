/*
 * read_block.c
 *		Filters the rows of a block, and only then decodes the columns asked for.
 *
 * 1. The ranges of a block's columns show whether the block can be skipped, and which filters are
 *    idle in it.
 * 2. Filtered columns are decoded one after the other; each filter reduces the selection.
 * 3. Verdicts are asked for, once per group if rows are grouped. Then passing groups may be summed
 *    at once, and nothing is left to do. Similarly, if sums by stack are asked for, the rows within
 *    a range of time are summed before any filter is applied to rows.
 * 4. The other columns are decoded, for wanted groups only, and the selected rows are moved
 *    together.
 */
#include "store/scan/read_block.h"

#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "store/scan/block_filter.h"
#include "store/scan/group_rows.h"
#include "store/scan/open_unit.h"
#include "store/segment/codec_server.h"

static void
decode_missing(PfsScanColumn *column)
{
	for (int i = 0; i < PFS_BLOCK_ROWS; i++)
		column->values[i] = column->missing_value;
	memset(column->nulls, column->missing_is_null, sizeof(column->nulls));
	column->block_values = column->values;
	column->block_nulls = column->missing_is_null ? column->nulls : NULL;
}

/* If the type of the column was changed, converts values stored before to the present form. */
static void
make_native(PfsScanColumn *column, uint32 row_count)
{
	for (uint32 row = 0; row < row_count; row++)
		/* Image and segment arrays are not changed: the result goes to the column's own array. */
		column->values[row] = pfs_value_native(column->kind, column->block_values[row]);
	column->block_values = column->values;
}

static void
decode_image(PfsBlockScan *scan, PfsScanColumn *column)
{
	const PfsRowImage *image = pfs_scan_current_unit(scan)->image;
	Size first = (Size) scan->block * PFS_BLOCK_ROWS;

	column->block_values = pfs_row_image_values(image, column->position) + first;
	column->block_nulls = pfs_row_image_nulls(image, column->position) + first;
	/* An image has flags for every column; readers are quicker without them. */
	if (memchr(column->block_nulls, true, scan->block_rows) == NULL)
		column->block_nulls = NULL;
	make_native(column, scan->block_rows);
}

/*
 * Decodes a column of the current block, and converts values that were stored before a change of
 * the column's type.
 */
static void
decode_segment(PfsBlockScan *scan, PfsScanColumn *column)
{
	PfsError error;
	PfsStatus status;
	bool has_nulls;
	int64 min;
	int64 max;

	pfs_scan_load_column(scan, column);
	status = pfs_reader_block_of_groups(scan->reader, column->position, (uint32) scan->block,
										scan->groups.are_found ? scan->groups.wanted : NULL,
										column->values, column->nulls, &has_nulls, &error);
	if (status != PFS_OK)
		pfs_scan_block_error(scan, status, &error);
	column->block_values = column->values;
	column->block_nulls = has_nulls ? column->nulls : NULL;
	/*
	 * Only rows and keys of sums are converted: a sum may be wider than the values of its column's
	 * type.
	 */
	if ((scan->part == PFS_PART_ROWS ||
		 pfs_scan_is_key_of_sums(scan, scan->part, column->attnum)) &&
		pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min, &max) &&
		!pfs_value_range_is_native(column->kind, min, max))
		make_native(column, scan->block_rows);
}

static void
block_decode_column(PfsBlockScan *scan, PfsScanColumn *column)
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
	const PfsRowImage *image = pfs_scan_current_unit(scan)->image;
	const PfsRun *runs = pfs_row_image_runs(image);
	uint32 first = (uint32) scan->block * PFS_BLOCK_ROWS;
	uint32 run = 0;
	uint32 end = image->run_count;

	/* the last run that begins at or before the block */
	PFS_BISECT(run, end, middle, runs[middle].first_row <= first);
	/* PFS_BISECT() leaves the first run that begins after the block. */
	run--;
	scan->selected_count = 0;
	for (uint32 row = 0; row < scan->block_rows; row++)
	{
		/* Every run has at least one row, so one step per row is enough. */
		if (run + 1 < image->run_count && runs[run + 1].first_row <= first + row)
			run++;
		if (!IsMVCCSnapshot(scan->snapshot) || runs[run].command_id < scan->snapshot->curcid)
			scan->selection[scan->selected_count++] = (uint16) row;
	}
}

/*
 * Tests the filters against the ranges of the block's columns. Returns false if no row can match.
 */
static bool
block_may_match(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->unit_filter_count; i++)
	{
		PfsScanFilter *filter = &scan->filters[i];
		const PfsScanColumn *column = filter->column;
		int64 min = 0;
		int64 max = 0;
		bool has_values;

		filter->is_idle_in_block = filter->is_idle_in_unit;
		/* An image has no ranges, so its filters run on every block. */
		if (filter->is_idle_in_unit || scan->input == NULL)
			continue;
		/*
		 * The block's range stands in the stream, which is needed for the filter anyway unless the
		 * range decides.
		 */
		pfs_scan_load_column(scan, column);
		has_values = pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block,
											&min, &max);
		if (!pfs_scan_filter_may_match(filter, has_values, min, max, column->may_be_null,
									   &filter->is_idle_in_block))
			return false;
	}
	return true;
}

/* Returns the keys of a block's values. The keys of null rows are arbitrary. */
static const int64 *
block_keys(PfsBlockScan *scan, PfsScanFilter *filter)
{
	const PfsScanColumn *column = filter->column;

	/* Only types whose int64 values do not sort like their SQL values need keys. */
	if (filter->keys == NULL)
		return column->block_values;
	for (uint32 row = 0; row < scan->block_rows; row++)
		filter->keys[row] = pfs_value_key(column->kind, column->block_values[row]);
	return filter->keys;
}

/* Applies the filters to the rows of the block, one after the other. */
static void
select_rows(PfsBlockScan *scan)
{
	bool is_selection_made = scan->input == NULL;

	if (scan->input == NULL)
		select_image_rows(scan);
	else
		scan->selected_count = scan->block_rows;

	for (int i = 0; i < scan->unit_filter_count && scan->selected_count > 0; i++)
	{
		PfsScanFilter *filter = &scan->filters[i];
		uint32 (*select)(const PfsBlockFilter *, const int64 *, const bool *, uint16 *, uint32);

		if (filter->is_idle_in_block)
			continue;
		block_decode_column(scan, filter->column);
		/* The first filter runs over all rows, and makes the selection. */
		select = is_selection_made ? pfs_filter_select : pfs_filter_select_of_all;
		scan->selected_count =
			select(&filter->filter, block_keys(scan, filter), filter->column->block_nulls,
				   scan->selection, scan->selected_count);
		is_selection_made = true;
	}
}

/* Keeps the selected rows that pass the verdicts. */
static void
block_judge_rows(PfsBlockScan *scan)
{
	PfsScanColumn *column = scan->judged;
	int64 values[PFS_BLOCK_ROWS];
	bool passes[PFS_BLOCK_ROWS];
	uint32 kept = 0;

	if (column->position >= 0 && scan->input != NULL)
		pfs_scan_load_column(scan, column);
	if (pfs_scan_has_groups(scan) && pfs_scan_is_by_group(scan, column))
	{
		pfs_scan_judge_groups(scan);
		return;
	}
	block_decode_column(scan, column);
	/* If every row is selected, selection[] may not have been written. */
	if (scan->selected_count == scan->block_rows)
		for (uint32 row = 0; row < scan->block_rows; row++)
			scan->selection[row] = (uint16) row;
	for (uint32 i = 0; i < scan->selected_count; i++)
		values[i] = column->block_values[scan->selection[i]];
	scan->verdicts->judge(scan->verdicts->state, values, scan->selected_count, passes);
	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		uint16 row = scan->selection[i];

		scan->selection[kept] = row;
		/* A null has no verdict, whatever judge() said about the value below it. */
		kept += passes[i] && (column->block_nulls == NULL || !column->block_nulls[row]);
	}
	scan->selected_count = kept;
}

/*
 * Moves the selected rows of a column to the front of its own arrays. Row numbers ascend, so no
 * value is overwritten before it is read.
 */
static void
gather_column(PfsBlockScan *scan, PfsScanColumn *column)
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

/* Decodes a column that the request asks for, and keeps its selected rows. */
static void
read_selected(PfsBlockScan *scan, PfsScanColumn *column)
{
	/*
	 * The group of each selected row is known, so one value per group is decoded instead of one per
	 * row.
	 */
	if (scan->groups.are_found && !column->is_decoded && pfs_scan_is_by_group(scan, column))
	{
		pfs_scan_load_column(scan, column);
		pfs_scan_group_values(scan, column);
		column->is_decoded = true;
		return;
	}
	block_decode_column(scan, column);
	if (scan->selected_count < scan->block_rows)
		gather_column(scan, column);
}

void
pfs_scan_give_block(PfsBlockScan *scan, PfsBlock *block)
{
	for (int i = 0; i < scan->attribute_count; i++)
	{
		scan->result_values[i] = scan->attributes[i]->block_values;
		scan->result_nulls[i] = scan->attributes[i]->block_nulls;
	}
	/* Numbers count blocks of rows over all units, so that a caller can return to a block. */
	block->number = pfs_scan_current_unit(scan)->first_block + (uint64) scan->block;
	block->row_count = scan->selected_count;
	block->values = scan->result_values;
	block->nulls = scan->result_nulls;
	block->has_sums = scan->part != PFS_PART_ROWS || scan->groups.are_added_up ||
					  pfs_scan_current_unit(scan)->is_rollup;
}

bool
pfs_scan_read_block(PfsBlockScan *scan, PfsBlock *block)
{
	scan->block_rows = Min(PFS_BLOCK_ROWS, scan->unit_rows - (uint32) scan->block * PFS_BLOCK_ROWS);
	for (uint32 i = 0; i < scan->column_count; i++)
		/* Columns decoded for the block before are of no use. */
		scan->columns[i]->is_decoded = false;

	scan->selected_count = 0;
	scan->groups.are_found = scan->groups.are_added_up = false;
	if (block_may_match(scan) &&
		/* If groups were summed, the selection is of groups, and filters are done. */
		!(scan->adds_groups && pfs_scan_has_groups(scan) && pfs_scan_cut_groups(scan)))
		select_rows(scan);
	if (scan->verdicts != NULL && scan->selected_count > 0)
		block_judge_rows(scan);
	if (scan->selected_count == 0)
	{
		/* A block counts as read only if rows are left, even if its streams had to be fetched. */
		scan->counters.blocks_skipped++;
		return false;
	}

	scan->counters.blocks_read++;
	for (uint32 i = 0; i < scan->column_count; i++)
	{
		PfsScanColumn *column = scan->columns[i];

		if (column->is_wanted && !scan->groups.are_added_up)
			read_selected(scan, column);
	}
	pfs_scan_give_block(scan, block);
	return true;
}
