/*
 * cell_scan.c
 *		Reads sums by series and stack, and adds each to the functions of the stack.
 */
#include "insight/cell_scan.h"

#include "storage/shmem.h"

uint32
pfs_slot_rows(const PfsCellScan *scan, uint32 slot)
{
	/* After the deploy a host has a row for each version. */
	return scan->hosts->count * (slot < scan->periods->base_count ? 1 : 2);
}

Size
pfs_slot_bytes(const PfsCellScan *scan)
{
	return mul_size(mul_size(sizeof(double), pfs_slot_row_length(scan)),
					2 * (Size) scan->hosts->count);
}

PfsSelection
pfs_slot_selection(const PfsCellScan *scan, uint32 slot)
{
	PfsSelection selection = *scan->selection;

	pfs_slot_range(scan->periods, slot, &selection.from, &selection.to);
	return selection;
}

/* Returns the row to which the samples of a series are added; NULL if they do not count. */
static double *
slot_row_of_series(const PfsCellScan *scan, uint32 slot, const PfsSeries *series, double *sums)
{
	bool is_after = slot >= scan->periods->base_count;
	int32 host = scan->hosts->of_series[series->index];
	bool is_old = is_after && scan->hosts->is_old[series->index];

	/* Series of the new version do not belong to the base. */
	if (host < 0 || (!is_after && scan->hosts->is_new[series->index]))
		return NULL;
	/* The rows of the old version follow those of all hosts. */
	return sums + ((Size) host + (is_old ? scan->hosts->count : 0)) * pfs_slot_row_length(scan);
}

static inline void
slot_row_add(const PfsCellScan *scan, double *row, const PfsCellStack *stack, double value)
{
	double *selves = row + 1;
	double *totals = selves + scan->function_count;
	const uint32 *list = scan->lists + stack->first;

	*row += value;
	if (stack->leaf != PFS_NO_CELL)
		selves[stack->leaf] += value;
	for (uint32 i = 0; i < stack->count; i++)
		totals[list[i]] += value;
}

void
pfs_slot_add(const PfsCellScan *scan, uint32 slot, PfsSampleScan *samples, double *sums)
{
	PfsIdRanks ranks = scan->ranks;
	const PfsSeries *series = NULL;
	double *sums_row = NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(samples, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			uint32 place;

			/* Neighbouring rows often have one series, whose row of sums is found once. */
			if (series == NULL || series->id != block.series[row])
			{
				series = pfs_selection_next_series(scan->selection, series, block.series[row]);
				sums_row = slot_row_of_series(scan, slot, series, sums);
			}
			if (sums_row == NULL)
				continue;
			place = pfs_id_rank(&ranks, block.stacks[row]);
			/* Stacks that the filters drop have no rank. */
			if (place != PFS_NO_RANK)
				slot_row_add(scan, sums_row, &scan->stacks[place], (double) block.values[row]);
		}
	}
	pfs_sample_scan_end(samples);
}
