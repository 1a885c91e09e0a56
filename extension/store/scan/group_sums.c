/*
 * group_sums.c
 *		Sums the rows of wanted groups in units, by time.
 *
 * 1. Time and value are decoded to units: small numbers above a least value.
 * 2. Neighbouring wanted groups of one series are a stretch of rows.
 * 3. The cell of a row's time counts the row and adds the units of its value.
 * 4. Cells with rows become rows of the block, and are cleared for the next series.
 *
 * A range of time is summed by groups instead: a running total before and after each group gives
 * the group's sum.
 */
#include "store/scan/group_sums.h"

#include "store/scan/open_unit.h"

/* A block with more distinct times than this is read row by row. */
#define MOST_TIMES 4096

/*
 * A block with more cells than this is read row by row, because all cells are visited for each
 * series. At this limit 64 cells are visited per row of the block, which costs about as much as
 * reading the row.
 */
#define MOST_CELLS (64 * PFS_BLOCK_ROWS)

/*
 * Position of the row count in a cell; the sum of the rows' units lies below it. A value has fewer
 * than MOST_UNITS units, except that of a group's last row, which may have as many as a whole block
 * of such values.
 */
#define COUNT_SHIFT 40
#define MOST_UNITS	((uint64) 1 << 20)

/* A block of values below this limit has a sum that fits int64. */
#define GREATEST_VALUE ((int64) 1 << 52)

StaticAssertDecl(MOST_UNITS *PFS_BLOCK_ROWS *PFS_BLOCK_ROWS <= (uint64) 1 << COUNT_SHIFT,
				 "units of a block stay below the count");
StaticAssertDecl(GREATEST_VALUE <= PG_INT64_MAX / PFS_BLOCK_ROWS, "sums of a block fit");

static const uint64 zeros[PFS_BLOCK_ROWS] = { 0 };

/* Row numbers at which stretches of wanted rows begin and end, in turn. */
typedef struct Stretches
{
	uint32 count;
	uint16 places[2 * PFS_BLOCK_ROWS + 2];
} Stretches;

/*
 * Reads a column's units. Returns false if the block has none, or if its values are in the form of
 * an earlier column type.
 */
static bool
group_sums_read_units(PfsBlockScan *scan, const PfsScanColumn *column, const bool *wanted,
					  PfsUnits *units)
{
	PfsError error;
	bool are_kept;
	PfsStatus status = pfs_reader_block_units(scan->reader, column->position, (uint32) scan->block,
											  wanted, units, &are_kept, &error);

	if (status != PFS_OK)
		pfs_scan_block_error(scan, status, &error);
	/* Units cannot be converted one by one, so a changed type makes the caller read the rows. */
	return are_kept && pfs_value_range_is_native(column->kind, units->least,
												 (int64) ((uint64) units->least +
														  units->range * units->divisor));
}

/*
 * Returns true if the counts and units of a block's rows fit in a cell, and their sums fit int64.
 */
static bool
sums_fit(const PfsUnits *values)
{
	/* The bounds are tested before the product and the sum that they keep from overflowing. */
	return values->range < MOST_UNITS && values->least > -GREATEST_VALUE &&
		   values->least < GREATEST_VALUE &&
		   values->divisor <= (uint64) GREATEST_VALUE / Max(values->range, 1) &&
		   values->least + (int64) (values->divisor * values->range) < GREATEST_VALUE;
}

/*
 * Finds the stretches of wanted rows among groups first .. end - 1. row is the first row of these
 * groups. Returns the row after the last one.
 */
static uint32
find_stretches(const PfsScanGroups *groups, uint32 first, uint32 end, uint32 row,
			   Stretches *stretches)
{
	bool before = false;
	uint32 count = 0;

	for (uint32 group = first; group < end; group++)
	{
		/*
		 * Always store, and advance only if wanted changes from one group to the next: a branch
		 * would be mispredicted.
		 */
		stretches->places[count] = (uint16) row;
		count += groups->wanted[group] != before;
		before = groups->wanted[group];
		row += (uint32) groups->lengths[group] + 1;
	}
	stretches->places[count] = (uint16) row;
	/* If the last group is wanted, the place after it ends the last stretch. */
	stretches->count = count + before;
	return row;
}

/*
 * Adds the rows of the stretches to the cells. The modulo keeps damaged units, which no encoder
 * writes, inside the array.
 */
static void
add_stretches(const Stretches *stretches, const PfsUnits *times, const PfsUnits *values,
			  uint64 *cells)
{
	/* NULL stands for a block whose values are all equal. */
	const uint64 *time_units = times->units == NULL ? zeros : times->units;
	const uint64 *value_units = values->units == NULL ? zeros : values->units;

	for (uint32 i = 0; i < stretches->count; i += 2)
		for (uint32 row = stretches->places[i]; row < stretches->places[i + 1]; row++)
			/*
			 * One addition counts the row in the upper bits and adds its value in the lower ones.
			 */
			cells[time_units[row] % MOST_TIMES] += ((uint64) 1 << COUNT_SHIFT) + value_units[row];
}

/* Moves the cells that have rows to the columns, and clears them. */
static void
group_sums_take_cells(PfsBlockScan *scan, int64 series, const PfsUnits *times,
					  const PfsUnits *values, uint64 *cells)
{
	uint32 count = scan->selected_count;

	for (uint32 unit = 0; unit <= times->range; unit++)
	{
		uint64 rows = cells[unit] >> COUNT_SHIFT;
		uint64 units = cells[unit] & (((uint64) 1 << COUNT_SHIFT) - 1);

		/* A time without a row is not in the result, although its sum would be 0. */
		if (rows == 0)
			continue;
		scan->added_series->values[count] = series;
		scan->added_times->values[count] = (int64) ((uint64) times->least + times->divisor * unit);
		scan->added->values[count] =
			/*
			 * Each value is least + divisor * units, so the sum of the rows follows from their
			 * number and the sum of their units.
			 */
			(int64) ((uint64) values->least * rows + values->divisor * units);
		count++;
		cells[unit] = 0;
	}
	scan->selected_count = count;
}

/* Returns the number of runs of equal series among the groups. */
static uint32
count_series(const PfsScanGroups *groups)
{
	uint32 count = 1;

	for (uint32 group = 1; group < groups->count; group++)
		count += groups->values[group] != groups->values[group - 1];
	return count;
}

void
pfs_scan_set_added_up(PfsBlockScan *scan)
{
	PfsScanColumn *columns[] = { scan->added_series, scan->added_times, scan->added };

	for (size_t i = 0; i < lengthof(columns); i++)
	{
		columns[i]->block_values = columns[i]->values;
		columns[i]->block_nulls = NULL;
		columns[i]->is_decoded = true;
	}
	scan->groups.are_added_up = true;
}

bool
pfs_scan_add_up_groups(PfsBlockScan *scan)
{
	const PfsScanGroups *groups = &scan->groups;
	uint64 cells[MOST_TIMES];
	Stretches stretches;
	PfsUnits times;
	PfsUnits values;
	uint32 row = 0;

	if (!group_sums_read_units(scan, scan->added_times, groups->wanted, &times) ||
		/*
		 * Values are decoded last, because the range of times rejects most of the blocks that
		 * cannot be summed.
		 */
		times.range >= MOST_TIMES || (times.range + 1) * count_series(groups) > MOST_CELLS ||
		!group_sums_read_units(scan, scan->added, groups->wanted, &values) || !sums_fit(&values))
		return false;
	memset(cells, 0, sizeof(*cells) * (times.range + 1));
	scan->selected_count = 0;
	for (uint32 group = 0, end; group < groups->count; group = end)
	{
		end = group + 1;
		/* values[] has the series of each group; groups of one series share the cells. */
		while (end < groups->count && groups->values[end] == groups->values[group])
			end++;
		row = find_stretches(groups, group, end, row, &stretches);
		add_stretches(&stretches, &times, &values, cells);
		group_sums_take_cells(scan, groups->values[group], &times, &values, cells);
	}
	pfs_scan_set_added_up(scan);
	return true;
}

/*
 * Returns how many units of time lie in the filter's range, and sets *first to the first of them.
 */
static uint64
group_sums_find_range(const PfsBlockFilter *filter, const PfsUnits *times, uint64 *first)
{
	uint64 last;

	/*
	 * The differences below are taken modulo 2^64, so the filter must not end before the first
	 * time.
	 */
	if (filter->high < times->least)
		return 0;
	*first = filter->low <= times->least
				 ? 0
				 /* Rounded up: the first unit whose time is not before low. */
				 : ((uint64) filter->low - (uint64) times->least - 1) / times->divisor + 1;
	last = Min(((uint64) filter->high - (uint64) times->least) / times->divisor, times->range);
	return *first <= last ? last - *first + 1 : 0;
}

/*
 * Writes running totals: totals[row] is the cell sum of those rows before row whose time is in the
 * range.
 */
static void
group_sums_add_range(const PfsUnits *times, const PfsUnits *values, uint64 first, uint64 count,
					 uint32 row_count, uint64 *totals)
{
	const uint64 *time_units = times->units == NULL ? zeros : times->units;
	const uint64 *value_units = values->units == NULL ? zeros : values->units;
	uint64 total = 0;

	for (uint32 row = 0; row < row_count; row++)
	{
		/* a mask of all ones or zero replaces a branch */
		uint64 is_in = time_units[row] - first < count;

		/* The sum of any group is then a single difference, whatever its length. */
		totals[row] = total;
		total += -is_in & (((uint64) 1 << COUNT_SHIFT) + value_units[row]);
	}
	totals[row_count] = total;
}

/* Selects the groups that have rows in the range, and leaves their cell sums in sums[]. */
static void
take_groups(PfsBlockScan *scan, const uint64 *totals, uint64 *sums)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 count = 0;
	uint32 row = 0;

	for (uint32 group = 0; group < groups->count; group++)
	{
		uint32 end = row + (uint32) groups->lengths[group] + 1;

		/*
		 * Neither part of a total decreases from row to row, so the difference is that of both
		 * parts.
		 */
		sums[count] = totals[end] - totals[row];
		groups->of_selected[count] = (uint16) group;
		/* Each row in the range adds 1 << COUNT_SHIFT, so a sum of 0 means that no row is in it. */
		count += sums[count] != 0;
		row = end;
	}
	scan->selected_count = count;
}

bool
pfs_scan_add_up_range(PfsBlockScan *scan, const PfsScanFilter *filter)
{
	uint64 totals[PFS_BLOCK_ROWS + 1];
	uint64 sums[PFS_BLOCK_ROWS];
	PfsUnits times;
	PfsUnits values = { NULL, 0, 1, 0 };
	uint64 first = 0;
	uint64 count;

	if (!group_sums_read_units(scan, filter->column, NULL, &times) ||
		(scan->added != NULL &&
		 (!group_sums_read_units(scan, scan->added, NULL, &values) || !sums_fit(&values))))
		return false;
	count = group_sums_find_range(&filter->filter, &times, &first);
	group_sums_add_range(&times, &values, first, count, scan->block_rows, totals);
	take_groups(scan, totals, sums);
	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		uint64 rows = sums[i] >> COUNT_SHIFT;
		uint64 units = sums[i] & (((uint64) 1 << COUNT_SHIFT) - 1);

		if (scan->added != NULL)
			scan->added->values[i] =
				(int64) ((uint64) values.least * rows + values.divisor * units);
		if (scan->counted != NULL)
			scan->counted->values[i] = (int64) rows;
	}
	return true;
}
