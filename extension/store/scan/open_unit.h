/*
 * open_unit.h
 *		Opening a unit of a block scan: what of it to read, and whether any of it is wanted.
 */
#ifndef PFS_OPEN_UNIT_H
#define PFS_OPEN_UNIT_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Opens the unit that the scan stands on, and counts it. */
void pfs_scan_open_unit(PfsBlockScan *scan);

/* Brings the streams of a column of the open segment in, once. */
void pfs_scan_load_column(PfsBlockScan *scan, const PfsScanColumn *column);

/*
 * Where a shared scan reads sums in place of rows, the process that has the unit's first chunk
 * reads all of them.
 */
void pfs_scan_set_block_end(PfsBlockScan *scan);

/*
 * What a filter makes of values between two, or of none where has_values is not set, and perhaps
 * nulls: false if no row passes, *is_idle if all do.
 */
bool pfs_scan_filter_may_match(const PfsScanFilter *filter, bool has_values, int64 min, int64 max,
							   bool may_be_null, bool *is_idle);

/* Whether a table of sums has one row for all rows of the same value of the column. */
bool pfs_scan_is_key_of_sums(const PfsBlockScan *scan, PfsSegmentPart part, AttrNumber attnum);

/* Raises the error that the open segment's reader has found in the current block. */
pg_noreturn void pfs_scan_block_error(PfsBlockScan *scan, PfsStatus status, PfsError *error);

#endif
