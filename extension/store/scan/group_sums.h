/*
 * group_sums.h
 *		Rows of wanted groups, added up by series and time before they are rows.
 *
 * A block of a segment has about as many times as the segment has windows, and few series. So sums
 * by time are less than rows, and no time, value or row number has to be made of what is stored.
 */
#ifndef PFS_GROUP_SUMS_H
#define PFS_GROUP_SUMS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/*
 * Adds up, by group, the current block's rows whose times, in a column that is loaded and has no
 * nulls, a filter leaves, which is a range. The scan's added and counted columns, if there are any
 * and as before, then have what groups.of_selected has selected_count groups for. False as below.
 */
bool pfs_scan_add_up_range(PfsBlockScan *scan, const PfsScanFilter *filter);

/*
 * Adds up the current block's groups that are wanted, whose series are in groups.values. The
 * scan's added columns, which are loaded and have no nulls, then have the series, times and sums of
 * selected_count rows. False: the block is not stored so that this is exact; nothing is done.
 */
bool pfs_scan_add_up_groups(PfsBlockScan *scan);

/* The same where the columns' values have those rows already. */
void pfs_scan_set_added_up(PfsBlockScan *scan);

#endif
