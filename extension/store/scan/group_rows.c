/*
 * group_rows.c
 *		Finds the groups of the selected rows, asks for verdicts on them, and selects the rows of
 *		the groups that pass.
 */
#include "store/scan/group_rows.h"

#include "store/scan/group_sums.h"
#include "store/scan/open_unit.h"

/* Row numbers are written in steps of this many; most groups have fewer rows. */
#define STEP 8

typedef uint16 Numbers __attribute__((vector_size(sizeof(uint16) * STEP)));

static const Numbers FIRST_NUMBERS = { 0, 1, 2, 3, 4, 5, 6, 7 };

StaticAssertDecl(STEP <= PFS_SELECTION_SLACK, "numbers may be written past the last row");

bool
pfs_scan_is_by_group(const PfsBlockScan *scan, const PfsScanColumn *column)
{
	return column->position >= 0 && pfs_reader_is_by_group(scan->reader, column->position);
}

static void
decoder_check(PfsBlockScan *scan, PfsStatus status, PfsError *error)
{
	if (status != PFS_OK)
		pfs_scan_block_error(scan, status, error);
}

/* Reads the block's groups; *first is the number of the first of them. */
static void
group_rows_read_groups(PfsBlockScan *scan, uint32 *first)
{
	PfsScanGroups *groups = &scan->groups;
	PfsError error;

	decoder_check(scan,
				  pfs_reader_block_groups(scan->reader, (uint32) scan->block, first, &groups->count,
										  &groups->lengths, &error),
				  &error);
}

/* Reads the values of the block's groups in a column. */
static void
group_rows_read_values(PfsBlockScan *scan, const PfsScanColumn *column, int64 *values)
{
	uint32 first;
	PfsError error;
	int64 min;
	int64 max;

	group_rows_read_groups(scan, &first);
	decoder_check(scan,
				  pfs_reader_group_values(scan->reader, column->position, first, scan->groups.count,
										  values, &error),
				  &error);
	/*
	 * Converting is needed only if the type of the column was changed after the segment was
	 * written.
	 */
	if (pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min, &max) &&
		!pfs_value_range_is_native(column->kind, min, max))
		for (uint32 i = 0; i < scan->groups.count; i++)
			values[i] = pfs_value_native(column->kind, values[i]);
}

/* Marks the groups of the selected rows as wanted. */
static void
find_groups(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 group = 0;
	uint32 end;

	memset(groups->wanted, false, groups->count);
	/* group and end move on with the selected rows, which ascend, so both lists are read once. */
	end = (uint32) groups->lengths[0] + 1;
	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		while (scan->selection[i] >= end)
			end += (uint32) groups->lengths[++group] + 1;
		groups->wanted[group] = true;
		groups->of_selected[i] = (uint16) group;
	}
}

/* Keeps the selected rows whose groups are wanted. */
static void
keep_wanted(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 kept = 0;

	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		uint16 group = groups->of_selected[i];

		scan->selection[kept] = scan->selection[i];
		/* of_selected must stay parallel to selection. */
		groups->of_selected[kept] = group;
		kept += groups->wanted[group];
	}
	scan->selected_count = kept;
}

/*
 * Selects the rows of wanted groups, without a branch per group: every group's row numbers are
 * written, and those of unwanted groups overwritten.
 */
static void
select_wanted(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 row = 0;
	uint32 selected = 0;

	for (uint32 group = 0; group < groups->count; group++)
	{
		uint32 rows = (uint32) groups->lengths[group] + 1;

		for (uint32 done = 0; done < rows; done += STEP)
		{
			/*
			 * Both arrays have slack, because the last step may write up to STEP - 1 numbers too
			 * many.
			 */
			Numbers numbers = FIRST_NUMBERS + (uint16) (row + done);
			Numbers group_numbers = (Numbers){ 0 } + (uint16) group;

			memcpy(scan->selection + selected + done, &numbers, sizeof(numbers));
			memcpy(groups->of_selected + selected + done, &group_numbers, sizeof(numbers));
		}
		/* If the group is not wanted, the next one overwrites its numbers. */
		selected += groups->wanted[group] ? rows : 0;
		row += rows;
	}
	scan->selected_count = selected;
}

/*
 * Asks for verdicts on the wanted groups, and keeps those that pass. The verdict function must not
 * see the other groups: their stacks may belong to series for which it is not defined.
 */
static void
judge_values(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	bool passes[PFS_BLOCK_ROWS];
	uint32 count = 0;

	group_rows_read_values(scan, scan->judged, groups->values);
	for (uint32 group = 0; group < groups->count; group++)
	{
		/* Values of wanted groups move to the front; count never exceeds group. */
		groups->values[count] = groups->values[group];
		count += groups->wanted[group];
	}
	scan->verdicts->judge(scan->verdicts->state, groups->values, count, passes);
	count = 0;
	for (uint32 group = 0; group < groups->count; group++)
		if (groups->wanted[group])
			groups->wanted[group] = passes[count++];
}

/* Asks for the verdicts on some ranks, and stores them. */
static void
judge_ranks(PfsBlockScan *scan, const int64 *ranks, uint32 count)
{
	const PfsScanColumn *column = scan->judged;
	int64 values[PFS_BLOCK_ROWS];
	bool passes[PFS_BLOCK_ROWS];
	PfsError error;

	/* The look-up replaces ranks by values in place, but the ranks are needed again. */
	memcpy(values, ranks, sizeof(*values) * count);
	decoder_check(scan, pfs_reader_look_up(scan->reader, column->position, count, values, &error),
				  &error);
	for (uint32 i = 0; i < count; i++)
		values[i] = pfs_value_native(column->kind, values[i]);
	scan->verdicts->judge(scan->verdicts->state, values, count, passes);
	for (uint32 i = 0; i < count; i++)
		scan->groups.verdicts[ranks[i]] = passes[i] ? PFS_VERDICT_PASSES : PFS_VERDICT_FAILS;
}

/* Returns true if only a filter on time can drop rows of the unit. */
static bool
all_series_are_wanted(const PfsBlockScan *scan)
{
	for (int i = 0; i < scan->unit_filter_count; i++)
		/*
		 * The range of time may exclude some stacks, but judging them all in order costs less than
		 * judging the others in blocks.
		 */
		if (!scan->filters[i].is_idle_in_unit && scan->filters[i].filter.attnum != scan->key.time)
			return false;
	return true;
}

/*
 * Prepares the verdicts of a unit. If all its values will be needed, they are judged at once and in
 * order, which is faster.
 */
static void
begin_ranks(PfsBlockScan *scan, uint32 distinct_count)
{
	PfsScanGroups *groups = &scan->groups;
	int64 ranks[PFS_BLOCK_ROWS];

	/* Zero is PFS_VERDICT_NONE. */
	groups->verdicts = MemoryContextAllocZero(scan->unit_context, distinct_count);
	groups->all_are_judged = all_series_are_wanted(scan);
	for (uint32 first = 0, count; groups->all_are_judged && first < distinct_count; first += count)
	{
		count = Min(distinct_count - first, PFS_BLOCK_ROWS);
		for (uint32 i = 0; i < count; i++)
			ranks[i] = first + i;
		judge_ranks(scan, ranks, count);
	}
}

/* Judges the ranks of wanted groups that are not judged yet. */
static void
judge_unknown(PfsBlockScan *scan, const int64 *ranks)
{
	const PfsScanGroups *groups = &scan->groups;
	int64 unknown[PFS_BLOCK_ROWS];
	uint32 count = 0;

	for (uint32 group = 0; group < groups->count; group++)
	{
		/* A rank may occur more than once and is then judged again, with the same result. */
		unknown[count] = ranks[group];
		count += groups->wanted[group] && groups->verdicts[ranks[group]] == PFS_VERDICT_NONE;
	}
	if (count > 0)
		judge_ranks(scan, unknown, count);
}

/*
 * Like judge_values(), for a column with a dictionary: each distinct value is judged once per unit.
 */
static void
judge_by_rank(PfsBlockScan *scan, uint32 distinct_count)
{
	PfsScanGroups *groups = &scan->groups;
	int64 *ranks = groups->values;
	uint32 first;
	PfsError error;

	if (groups->verdicts == NULL)
		begin_ranks(scan, distinct_count);
	group_rows_read_groups(scan, &first);
	decoder_check(scan,
				  pfs_reader_group_ranks(scan->reader, scan->judged->position, first, groups->count,
										 ranks, &error),
				  &error);
	if (!groups->all_are_judged)
		judge_unknown(scan, ranks);
	for (uint32 group = 0; group < groups->count; group++)
		/* A group that is not wanted may have a rank that was never judged; it stays unwanted. */
		groups->wanted[group] &= groups->verdicts[ranks[group]] == PFS_VERDICT_PASSES;
}

/* Reads the series of the block's groups into groups->values. A block usually has one series. */
static void
group_rows_read_series(PfsBlockScan *scan)
{
	const PfsScanColumn *column = scan->added_series;
	PfsScanGroups *groups = &scan->groups;
	int64 min;
	int64 max;

	if (!pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min, &max) ||
		min != max)
	{
		group_rows_read_values(scan, column, groups->values);
		return;
	}
	for (uint32 group = 0; group < groups->count; group++)
		groups->values[group] = pfs_value_native(column->kind, min);
}

/* Sums the wanted groups, if the scan asks for that. Returns false if they cannot be summed. */
static bool
group_rows_add_up(PfsBlockScan *scan)
{
	const PfsScanColumn *columns[] = { scan->added_series, scan->added_times, scan->added };

	for (size_t i = 0; i < lengthof(columns); i++)
	{
		/* added is NULL if the request is not for exactly series, time and one column. */
		if (scan->added == NULL || columns[i]->position < 0 || columns[i]->may_be_null)
			return false;
		pfs_scan_load_column(scan, columns[i]);
	}
	/* Stretches of groups can be added up by series only if each group has one series. */
	if (!pfs_scan_is_by_group(scan, scan->added_series))
		return false;
	group_rows_read_series(scan);
	return pfs_scan_add_up_groups(scan);
}

/*
 * Returns true if filters keep or drop whole groups: each one that applies to rows of the block is
 * on a column with one value per group.
 */
static bool
groups_are_whole(const PfsBlockScan *scan)
{
	for (int i = 0; i < scan->unit_filter_count; i++)
		if (!scan->filters[i].is_idle_in_block &&
			!pfs_scan_is_by_group(scan, scan->filters[i].column))
			return false;
	return true;
}

static bool
any_is_wanted(const PfsScanGroups *groups)
{
	return memchr(groups->wanted, true, groups->count) != NULL;
}

void
pfs_scan_judge_groups(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	bool all = scan->selected_count == scan->block_rows;
	uint32 distinct_count = pfs_reader_distinct_count(scan->reader, scan->judged->position);
	uint32 first;

	group_rows_read_groups(scan, &first);
	/* If no filter has dropped a row, every group is wanted, and need not be found row by row. */
	if (all)
		memset(groups->wanted, true, groups->count);
	else
		find_groups(scan);
	if (distinct_count > 0)
		judge_by_rank(scan, distinct_count);
	else
		judge_values(scan);
	groups->are_found = true;
	/* sums need groups that pass as a whole; otherwise select the rows of wanted groups */
	if (!any_is_wanted(groups))
		scan->selected_count = 0;
	else if ((all || groups_are_whole(scan)) && group_rows_add_up(scan))
		return;
	else if (all)
		select_wanted(scan);
	else
		keep_wanted(scan);
}

void
pfs_scan_group_values(PfsBlockScan *scan, PfsScanColumn *column)
{
	PfsScanGroups *groups = &scan->groups;

	group_rows_read_values(scan, column, groups->values);
	for (uint32 i = 0; i < scan->selected_count; i++)
		column->values[i] = groups->values[groups->of_selected[i]];
	column->block_values = column->values;
	column->block_nulls = NULL;
}

/*
 * Returns the only filter that applies to rows of the block, if it is a range of time; otherwise
 * NULL.
 */
static const PfsScanFilter *
find_time_filter(const PfsBlockScan *scan)
{
	const PfsScanFilter *found = NULL;

	for (int i = 0; i < scan->unit_filter_count; i++)
	{
		const PfsScanFilter *filter = &scan->filters[i];

		if (filter->is_idle_in_block)
			continue;
		/* A second filter, or a set of times, cannot be tested by a range of units. */
		if (found != NULL || filter->filter.attnum != scan->key.time || filter->keys != NULL ||
			filter->filter.keys != NULL || filter->filter.keeps_nulls)
			return NULL;
		found = filter;
	}
	return found;
}

/* Returns true if the column is counted, summed, or has one value per group. Loads its streams. */
static bool
group_rows_prepare(PfsBlockScan *scan, const PfsScanColumn *column)
{
	if (column == scan->counted)
		return true;
	/* Nulls and missing values are not stored in units. */
	if (column->position < 0 || column->may_be_null)
		return false;
	pfs_scan_load_column(scan, column);
	return column == scan->added || pfs_scan_is_by_group(scan, column);
}

bool
pfs_scan_cut_groups(PfsBlockScan *scan)
{
	const PfsScanFilter *filter = find_time_filter(scan);
	uint32 first;

	if (filter == NULL || filter->column->position < 0 || filter->column->may_be_null)
		return false;
	for (int i = 0; i < scan->attribute_count; i++)
		if (!group_rows_prepare(scan, scan->attributes[i]))
			return false;
	group_rows_read_groups(scan, &first);
	if (!pfs_scan_add_up_range(scan, filter))
		return false;
	scan->groups.are_added_up = true;
	for (int i = 0; i < scan->attribute_count && scan->selected_count > 0; i++)
	{
		PfsScanColumn *column = scan->attributes[i];

		/* pfs_scan_add_up_range() has filled in these two already. */
		if (column != scan->added && column != scan->counted)
			pfs_scan_group_values(scan, column);
		column->block_values = column->values;
		column->block_nulls = NULL;
	}
	return true;
}
