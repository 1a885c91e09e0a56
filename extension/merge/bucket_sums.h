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
 * A sum that would not fit goes to the rest, and begins again. Divisions would cost the most. A
 * half more keeps beginnings of buckets, which most times are, out of reach of rounding; so what is
 * corrected is a range of decades. Signed numbers become doubles, and back, by one instruction.
 */
static inline void
pfs_bucket_sums_add(PfsBucketSums *sums, int32 series, TimestampTz time, int64 value)
{
	uint64 offset = (uint64) time - (uint64) sums->first;
	uint64 bucket = (uint64) (int64) (((double) (int64) offset + 0.5) * sums->per_us);
	int64 *cell;
	int64 sum;

	if (unlikely(offset < bucket * (uint64) sums->step_us))
		bucket--;
	else if (unlikely(offset - bucket * (uint64) sums->step_us >= (uint64) sums->step_us))
		bucket++;
	Assert(bucket < sums->bucket_count);
	cell = &sums->cells[(Size) series * sums->bucket_count + bucket];
	if (unlikely(__builtin_add_overflow(*cell, value, &sum)))
	{
		pfs_series_sums_add(sums->rest, series, sums->first + (int64) bucket * sums->step_us,
							*cell);
		sum = value;
	}
	*cell = sum;
}

#endif
