/*
 * bucket_sums.h
 *		Sums by (series or group, bucket of time) side by side, where these are few.
 *
 * Adding is then a place in an array. What has no room there goes where it is exact.
 */
#ifndef PFS_BUCKET_SUMS_H
#define PFS_BUCKET_SUMS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "merge/series_sums.h"

typedef struct PfsBucketSums
{
	PfsSeriesSums *rest; /* gets all in the end */
	TimestampTz first;	 /* the beginning of the first bucket */
	int64 step_us;
	double per_us;
	uint32 bucket_count;
	Size cell_count;
	int64 *cells; /* those of a series are neighbours */
} PfsBucketSums;

/*
 * Sums of the buckets that meet [from, to), which align to the epoch; NULL where they would take
 * more than so many bytes. In CurrentMemoryContext.
 */
PfsBucketSums *pfs_bucket_sums_begin(PfsSeriesSums *rest, int32 series_count, TimestampTz from,
									 TimestampTz to, int64 step_us, Size bytes);

/* Moves all sums to the rest, under the beginnings of their buckets. */
void pfs_bucket_sums_end(PfsBucketSums *sums);

/*
 * Adds so many values of one series, at times that lie in [from, to). A sum that would not fit goes
 * to the rest, and begins again.
 */
void pfs_bucket_sums_add(PfsBucketSums *sums, int32 series, const TimestampTz *times,
						 const int64 *values, uint32 count);

#endif
