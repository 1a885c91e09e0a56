/*
 * bucket_sums.h
 *		Sums by (series or group, bucket of time) in an array, if they are few.
 *
 * Adding then is an access to the array. A sum that does not fit is moved to series_sums.h, which
 * is exact.
 */
#ifndef PFS_BUCKET_SUMS_H
#define PFS_BUCKET_SUMS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "merge/series_sums.h"

typedef struct PfsBucketSums
{
	PfsSeriesSums *rest; /* gets all sums in the end */
	TimestampTz first;	 /* the start of the first bucket */
	int64 step_us;
	double per_us;
	uint32 bucket_count;
	Size cell_count;
	int64 *cells; /* the cells of a series are neighbours */
} PfsBucketSums;

/*
 * Allocates, in CurrentMemoryContext, sums for the buckets (aligned to the epoch) that overlap
 * [from, to). Returns NULL if they would need more memory than the limit "bytes".
 */
PfsBucketSums *pfs_bucket_sums_begin(PfsSeriesSums *rest, int32 series_count, TimestampTz from,
									 TimestampTz to, int64 step_us, Size bytes);

/* Moves all sums to the rest, under the starts of their buckets. */
void pfs_bucket_sums_end(PfsBucketSums *sums);

/*
 * Adds values of one series, at times in [from, to). If a sum would overflow, it is moved to the
 * rest and starts again.
 */
void pfs_bucket_sums_add(PfsBucketSums *sums, int32 series, const TimestampTz *times,
						 const int64 *values, uint32 count);

#endif
