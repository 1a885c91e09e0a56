/*
 * cell_scan.h
 *		Adds the samples of one slot of time to sums of functions by host.
 *
 * A process that scans needs nothing of the dictionary: each stack has a list of the functions that
 * are tested.
 */
#ifndef PFS_CELL_SCAN_H
#define PFS_CELL_SCAN_H

#include "profstore.h"

#include "base/id_ranks.h"
#include "insight/periods.h"
#include "select/sample_scan.h"

#define PFS_NO_CELL PG_UINT32_MAX

/* The tested functions of a stack: that of its leaf, and all, which begin at lists[first]. */
typedef struct PfsCellStack
{
	uint32 leaf; /* PFS_NO_CELL: the leaf's function is not tested */
	uint32 first;
	uint32 count;
} PfsCellStack;

typedef struct PfsCellScan
{
	const PfsSelection *selection;
	const PfsPeriods *periods;
	const PfsHosts *hosts; /* without names */
	uint32 function_count; /* functions that are tested */
	/* stacks, by ascending ids; the samples of others are not counted */
	const int64 *stack_ids;
	const PfsCellStack *stacks;
	uint32 stack_count;
	const uint32 *lists; /* indexes of functions */
	uint32 list_count;
	PfsIdRanks ranks; /* places of stack_ids */
} PfsCellScan;

/*
 * The sums of a slot have a row for each host, and another for each host's old version:
 *
 *   0                  all samples
 *   1                  own values of each function
 *   1 + functions      totals of each function
 */
static inline Size
pfs_slot_row_length(const PfsCellScan *scan)
{
	return 1 + 2 * (Size) scan->function_count;
}

/* Returns the number of rows of a slot: before the deploy no host has an old version. */
uint32 pfs_slot_rows(const PfsCellScan *scan, uint32 slot);

/* Returns the bytes of the sums of any slot. */
Size pfs_slot_bytes(const PfsCellScan *scan);

/* Returns the number of the slots to scan. Those of old versions are filled with those of new. */
static inline uint32
pfs_slots_to_scan(const PfsCellScan *scan)
{
	return scan->periods->base_count + PFS_SLOT_OLD;
}

/* Columns of the samples of a slot, which are summed by PFS_PART_PAIRS. */
#define PFS_SLOT_COLUMNS (PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE)

/* Returns the selection in the time of a slot. */
PfsSelection pfs_slot_selection(const PfsCellScan *scan, uint32 slot);

/* Adds the samples to sums, which are 0, and ends their scan. */
void pfs_slot_add(const PfsCellScan *scan, uint32 slot, PfsSampleScan *samples, double *sums);

#endif
