/*
 * estimate.h
 *		What a scan over a time range will read, from the directory alone: for the planner.
 */
#ifndef PFS_ESTIMATE_H
#define PFS_ESTIMATE_H

#include "profstore.h"

#include "datatype/timestamp.h"

typedef struct PfsScanEstimate
{
	double sample_count; /* in the range */
	double decoded_rows; /* samples, or sums that stand for them */
	double byte_count;	 /* to read */
} PfsScanEstimate;

/*
 * All series count. Looks at the samples and the tiers by the active snapshot; takes
 * AccessShareLock on what meets the range, as the query will. The caller has checked that the user
 * may read profstore.samples.
 */
PfsScanEstimate pfs_sample_scan_estimate(TimestampTz from, TimestampTz to);

#endif
