/*
 * estimate.h
 *		Estimates how much a scan over a range of time reads, from the directory
 *		only.
 */
#ifndef PFS_ESTIMATE_H
#define PFS_ESTIMATE_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "select/selection.h"

typedef struct PfsScanEstimate
{
	double sample_count; /* number of samples in the range */
	double decoded_rows; /* number of samples to decode, or of the sums that replace them */
	double byte_count;	 /* number of bytes to read */
} PfsScanEstimate;

/*
 * Estimates for all series. Reads the directory of samples and tiers with the active snapshot.
 * Takes AccessShareLock on partitions that overlap the range, as the query will. The caller has
 * checked that the user may read profstore.samples.
 */
PfsScanEstimate pfs_sample_scan_estimate(TimestampTz from, TimestampTz to);

/*
 * Returns the number of parallel workers that pay off for a scan of a selection, by PostgreSQL's
 * rule for tables: one from min_parallel_table_scan_size on, one more for each threefold size. A
 * sample counts for bytes_per_row; spared_rows of the selection's samples are not read. 0 inside of
 * a parallel query.
 */
int pfs_worker_count(const PfsSelection *selection, double spared_rows, double bytes_per_row);

#endif
