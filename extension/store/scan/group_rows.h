/*
 * group_rows.h
 *		The rows of a block by their groups, where verdicts decide on what all of a group share.
 *
 * A verdict is asked for once a group, and of other columns only groups that pass are decoded.
 */
#ifndef PFS_GROUP_ROWS_H
#define PFS_GROUP_ROWS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Whether the rows of the block that the scan stands on are known by their groups. */
static inline bool
pfs_scan_has_groups(const PfsBlockScan *scan)
{
	return scan->input != NULL && scan->has_groups;
}

/* Whether a column has one value for each of them. */
bool pfs_scan_is_by_group(const PfsBlockScan *scan, const PfsScanColumn *column);

/* Keeps the selected rows, all of the block or some, whose groups the scan's verdicts let pass. */
void pfs_scan_judge_groups(PfsBlockScan *scan);

/*
 * Adds up the rows of each group of the block whose times the filters leave, where no other filter
 * is in question, and this is what is asked for; false: nothing is done. All columns asked for are
 * set, for selected_count groups.
 */
bool pfs_scan_cut_groups(PfsBlockScan *scan);

/* The values of a column that has one for each group, for the selected rows that were judged. */
void pfs_scan_group_values(PfsBlockScan *scan, PfsScanColumn *column);

#endif
