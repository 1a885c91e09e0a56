/*
 * group_sums.h
 *		Sums the rows of wanted groups by series and time, without making rows of them first.
 *
 * A block has about as many distinct times as its segment has windows of samples, and few series.
 * So there are fewer sums than rows, and neither time, value nor row number is computed for each
 * row.
 */
#ifndef PFS_GROUP_SUMS_H
#define PFS_GROUP_SUMS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/*
 * Sums, by group, the current block's rows whose time passes a range filter. The time column is
 * loaded and has no nulls. Sets the scan's columns added and counted, if there are any, for
 * selected_count groups, whose numbers it puts in groups.of_selected. Returns false, having done
 * nothing, if the sums would not be exact.
 */
bool pfs_scan_add_up_range(PfsBlockScan *scan, const PfsScanFilter *filter);

/*
 * Sums the current block's wanted groups by series and time. groups.values has the series of all
 * groups; the scan's added columns are loaded and have no nulls. Sets these columns for
 * selected_count sums. Returns false, having done nothing, if the sums would not be exact.
 */
bool pfs_scan_add_up_groups(PfsBlockScan *scan);

/* Marks the added columns as set, when their values[] already have the sums. */
void pfs_scan_set_added_up(PfsBlockScan *scan);

#endif
