/*
 * open_unit.h
 *		Opens a unit of a block scan, and decides which part of it to read, if any.
 */
#ifndef PFS_OPEN_UNIT_H
#define PFS_OPEN_UNIT_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Opens the current unit, and counts it. */
void pfs_scan_open_unit(PfsBlockScan *scan);

/* Loads the streams of a column of the open segment, unless they are loaded already. */
void pfs_scan_load_column(PfsBlockScan *scan, const PfsScanColumn *column);

/*
 * Sets how far to read a unit whose sums are read in a shared scan: the process that has the unit's
 * first chunk reads all of the sums, the others none.
 */
void pfs_scan_set_block_end(PfsBlockScan *scan);

/*
 * Tests a filter on a column whose values lie in [min, max]; has_values is false if there are none.
 * Returns false if no row can pass; sets *is_idle if all pass.
 */
bool pfs_scan_filter_may_match(const PfsScanFilter *filter, bool has_values, int64 min, int64 max,
							   bool may_be_null, bool *is_idle);

/* Returns true if a table of sums groups by this column. */
bool pfs_scan_is_key_of_sums(const PfsBlockScan *scan, PfsSegmentPart part, AttrNumber attnum);

/* Raises an error that the reader of the open segment has returned for the current block. */
pg_noreturn void pfs_scan_block_error(PfsBlockScan *scan, PfsStatus status, PfsError *error);

#endif
