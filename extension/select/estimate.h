/*
 * estimate.h
 *		Estimates for the planner how much a scan over a range of time reads, from the directory
 *		only.
 */
#ifndef PFS_ESTIMATE_H
#define PFS_ESTIMATE_H

#include "profstore.h"

#include "datatype/timestamp.h"

typedef struct PfsScanEstimate
{
	double sample_count; /* in the range */
	double decoded_rows; /* samples, or sums that replace them */
	double byte_count;	 /* to read */
} PfsScanEstimate;

/*
 * Estimates for all series. Reads the directory of samples and tiers with the active snapshot.
 * Takes AccessShareLock on partitions that overlap the range, as the query will. The caller has
 * checked that the user may read profstore.samples.
 */
PfsScanEstimate pfs_sample_scan_estimate(TimestampTz from, TimestampTz to);

#endif
