/*
 * bucket_sums.h
 *		Sums by (series or group, bucket of time) in an array, if there are few.
 *
 * Each addition is one access to the array. A sum that does not fit is moved to series_sums.h,
 * whose sums are exact.
 */
#ifndef PFS_BUCKET_SUMS_H
#define PFS_BUCKET_SUMS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "merge/series_sums.h"
#include "select/buckets.h"

typedef struct PfsBucketSums
{
	PfsSeriesSums *rest; /* receives all sums in the end */
	TimestampTz first;	 /* the start of the first bucket */
	int64 step_us;
	double per_us;
	uint32 bucket_count;
	Size cell_count;
	int64 *cells; /* the cells of a series are neighbours */
} PfsBucketSums;

/*
 * Allocates, in CurrentMemoryContext, sums for the buckets that overlap [from, to). Returns NULL if
 * they would need more memory than the limit "bytes".
 */
PfsBucketSums *pfs_bucket_sums_begin(PfsSeriesSums *rest, int32 series_count, TimestampTz from,
									 TimestampTz to, const PfsBuckets *buckets, Size bytes);

/* Moves all sums to rest, under the starts of their buckets. */
void pfs_bucket_sums_end(PfsBucketSums *sums);

/*
 * Adds values of one series, at times in [from, to). If a sum would overflow, it is moved to rest
 * and starts again.
 */
void pfs_bucket_sums_add(PfsBucketSums *sums, int32 series, const TimestampTz *times,
						 const int64 *values, uint32 count);

#endif
