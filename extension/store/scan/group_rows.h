/*
 * group_rows.h
 *		The rows of a block by their groups, for verdicts on a column that has one value per group.
 *
 * A verdict is computed once per group, and other columns are decoded only for groups that pass.
 */
#ifndef PFS_GROUP_ROWS_H
#define PFS_GROUP_ROWS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Returns true if the rows of the current block are stored in groups. */
static inline bool
pfs_scan_has_groups(const PfsBlockScan *scan)
{
	return scan->input != NULL && scan->has_groups;
}

/* Returns true if a column has one value per group of the current unit. */
bool pfs_scan_is_by_group(const PfsBlockScan *scan, const PfsScanColumn *column);

/* Keeps those of the selected rows whose groups pass the scan's verdicts. */
void pfs_scan_judge_groups(PfsBlockScan *scan);

/*
 * For each group of the block, sums the rows that the time filter keeps. Returns false, having done
 * nothing, unless the request asks for such sums and no other filter applies in this block.
 * Otherwise all columns asked for are set, for selected_count groups.
 */
bool pfs_scan_cut_groups(PfsBlockScan *scan);

/* Sets a column that has one value per group, for the selected rows. */
void pfs_scan_group_values(PfsBlockScan *scan, PfsScanColumn *column);

#endif
