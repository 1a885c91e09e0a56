/*
 * group_rows.c
 *		Groups of selected rows, and selected rows of groups.
 */
#include "store/scan/group_rows.h"

#include "store/scan/open_unit.h"

/* Numbers of rows are written so many at a time: most groups have fewer. */
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
check(PfsBlockScan *scan, PfsStatus status, PfsError *error)
{
	if (status != PFS_OK)
		pfs_scan_block_error(scan, status, error);
}

/* Reads the block's groups; they begin with number *first. */
static void
read_groups(PfsBlockScan *scan, uint32 *first)
{
	PfsScanGroups *groups = &scan->groups;
	PfsError error;

	check(scan,
		  pfs_reader_block_groups(scan->reader, (uint32) scan->block, first, &groups->count,
								  &groups->lengths, &error),
		  &error);
}

/* The values of the block's groups in a column. */
static void
read_values(PfsBlockScan *scan, const PfsScanColumn *column, int64 *values)
{
	uint32 first;
	PfsError error;
	int64 min;
	int64 max;

	read_groups(scan, &first);
	check(scan,
		  pfs_reader_group_values(scan->reader, column->position, first, scan->groups.count, values,
								  &error),
		  &error);
	if (pfs_reader_block_range(scan->reader, column->position, (uint32) scan->block, &min, &max) &&
		!pfs_value_range_is_native(column->kind, min, max))
		for (uint32 i = 0; i < scan->groups.count; i++)
			values[i] = pfs_value_native(column->kind, values[i]);
}

/* Finds the groups of the selected rows, which are some of the block's. */
static void
find_groups(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 group = 0;
	uint32 end;

	memset(groups->wanted, false, groups->count);
	end = (uint32) groups->lengths[0] + 1;
	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		while (scan->selection[i] >= end)
			end += (uint32) groups->lengths[++group] + 1;
		groups->wanted[group] = true;
		groups->of_selected[i] = (uint16) group;
	}
}

/* Keeps the selected rows that are of wanted groups. */
static void
keep_wanted(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	uint32 kept = 0;

	for (uint32 i = 0; i < scan->selected_count; i++)
	{
		uint16 group = groups->of_selected[i];

		scan->selection[kept] = scan->selection[i];
		groups->of_selected[kept] = group;
		kept += groups->wanted[group];
	}
	scan->selected_count = kept;
}

/* Selects the rows of wanted groups; a branch for each would cost more than writes. */
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
			Numbers numbers = FIRST_NUMBERS + (uint16) (row + done);
			Numbers group_numbers = (Numbers){ 0 } + (uint16) group;

			memcpy(scan->selection + selected + done, &numbers, sizeof(numbers));
			memcpy(groups->of_selected + selected + done, &group_numbers, sizeof(numbers));
		}
		selected += groups->wanted[group] ? rows : 0;
		row += rows;
	}
	scan->selected_count = selected;
}

/*
 * Lets verdicts decide which of the wanted groups stay so. They are not asked about others: these
 * may be of series whose stacks mean something else.
 */
static void
judge_values(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	bool passes[PFS_BLOCK_ROWS];
	uint32 count = 0;

	read_values(scan, scan->judged, groups->values);
	for (uint32 group = 0; group < groups->count; group++)
	{
		groups->values[count] = groups->values[group];
		count += groups->wanted[group];
	}
	scan->verdicts->judge(scan->verdicts->state, groups->values, count, passes);
	count = 0;
	for (uint32 group = 0; group < groups->count; group++)
		if (groups->wanted[group])
			groups->wanted[group] = passes[count++];
}

/* Asks for the verdicts on so many ranks, and keeps them. */
static void
judge_ranks(PfsBlockScan *scan, const int64 *ranks, uint32 count)
{
	const PfsScanColumn *column = scan->judged;
	int64 values[PFS_BLOCK_ROWS];
	bool passes[PFS_BLOCK_ROWS];
	PfsError error;

	for (uint32 i = 0; i < count; i++)
	{
		check(scan,
			  pfs_reader_distinct(scan->reader, column->position, (uint32) ranks[i], &values[i],
								  &error),
			  &error);
		values[i] = pfs_value_native(column->kind, values[i]);
	}
	scan->verdicts->judge(scan->verdicts->state, values, count, passes);
	for (uint32 i = 0; i < count; i++)
		scan->groups.verdicts[ranks[i]] = passes[i] ? PFS_VERDICT_PASSES : PFS_VERDICT_FAILS;
}

/* The same where the column has a dictionary: a value is judged once in a unit. */
static void
judge_by_rank(PfsBlockScan *scan, uint32 distinct_count)
{
	PfsScanGroups *groups = &scan->groups;
	int64 *ranks = groups->values;
	int64 unknown[PFS_BLOCK_ROWS];
	uint32 unknown_count = 0;
	uint32 first;
	PfsError error;

	if (groups->verdicts == NULL)
		groups->verdicts = MemoryContextAllocZero(scan->unit_context, distinct_count);
	read_groups(scan, &first);
	check(scan,
		  pfs_reader_group_ranks(scan->reader, scan->judged->position, first, groups->count, ranks,
								 &error),
		  &error);
	for (uint32 group = 0; group < groups->count; group++)
	{
		unknown[unknown_count] = ranks[group];
		unknown_count +=
			groups->wanted[group] && groups->verdicts[ranks[group]] == PFS_VERDICT_NONE;
	}
	if (unknown_count > 0)
		judge_ranks(scan, unknown, unknown_count);
	for (uint32 group = 0; group < groups->count; group++)
		groups->wanted[group] &= groups->verdicts[ranks[group]] == PFS_VERDICT_PASSES;
}

void
pfs_scan_judge_groups(PfsBlockScan *scan)
{
	PfsScanGroups *groups = &scan->groups;
	bool all = scan->selected_count == scan->block_rows;
	uint32 distinct_count = pfs_reader_distinct_count(scan->reader, scan->judged->position);
	uint32 first;

	read_groups(scan, &first);
	if (all)
		memset(groups->wanted, true, groups->count);
	else
		find_groups(scan);
	if (distinct_count > 0)
		judge_by_rank(scan, distinct_count);
	else
		judge_values(scan);
	if (all)
		select_wanted(scan);
	else
		keep_wanted(scan);
	groups->are_found = true;
}

void
pfs_scan_group_values(PfsBlockScan *scan, PfsScanColumn *column)
{
	PfsScanGroups *groups = &scan->groups;

	read_values(scan, column, groups->values);
	for (uint32 i = 0; i < scan->selected_count; i++)
		column->values[i] = groups->values[groups->of_selected[i]];
	column->block_values = column->values;
	column->block_nulls = NULL;
}
