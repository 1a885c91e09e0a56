/*
 * bucket_sums.c
 *		Keeps sums in an array, with one cell for each series and bucket.
 */
#include "merge/bucket_sums.h"

#include "base/arrays.h"

PfsBucketSums *
pfs_bucket_sums_begin(PfsSeriesSums *rest, int32 series_count, TimestampTz from, TimestampTz to,
					  const PfsBuckets *buckets, Size bytes)
{
	const int64 step_us = buckets->step_us;
	PfsBucketSums *sums;
	TimestampTz first;
	uint64 bucket_count;
	uint64 span;

	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to) || from >= to)
		return NULL;
	first = pfs_buckets_start(buckets, from);
	/* The unsigned difference cannot overflow; a span beyond int64 is refused below. */
	span = (uint64) (to - 1) - (uint64) first;
	bucket_count = span / (uint64) step_us + 1;
	/* The array must not exceed bytes. The caller then uses the hash table for all sums. */
	if (span > PG_INT64_MAX || bucket_count > bytes / sizeof(int64) / (Size) Max(series_count, 1))
		return NULL;
	sums = palloc(sizeof(PfsBucketSums));
	*sums = (PfsBucketSums){ .rest = rest,
							 .first = first,
							 .step_us = step_us,
							 .per_us = 1.0 / (double) step_us,
							 .bucket_count = (uint32) bucket_count,
							 .cell_count = bucket_count * (Size) series_count };
	sums->cells = PFS_ARRAY0(int64, sums->cell_count);
	return sums;
}

/* Moves the sum of a bucket to sums->rest. */
static pg_noinline void
bucket_sums_make_room(PfsBucketSums *sums, int32 series, uint64 bucket, int64 *cell)
{
	pfs_series_sums_add(sums->rest, series, sums->first + (int64) bucket * sums->step_us, *cell);
	*cell = 0;
}

/*
 * Adds values to the buckets of their times. A division for each time would dominate the cost, so
 * the time is multiplied by the reciprocal of the width. A half is added, so that rounding does not
 * affect the starts of buckets, which most times are. Only over decades a correction is needed.
 * Times are signed, because one instruction converts signed numbers to doubles and back.
 */
void
pfs_bucket_sums_add(PfsBucketSums *sums, int32 series, const TimestampTz *times,
					const int64 *values, uint32 count)
{
	int64 *cells = sums->cells + (Size) series * sums->bucket_count;
	uint64 first = (uint64) sums->first;
	uint64 step_us = (uint64) sums->step_us;
	double per_us = sums->per_us;

	for (uint32 i = 0; i < count; i++)
	{
		uint64 offset = (uint64) times[i] - first;
		uint64 bucket = (uint64) (int64) (((double) (int64) offset + 0.5) * per_us);

		/* The product was rounded up to the next bucket. */
		if (unlikely(offset < bucket * step_us))
			bucket--;
		else if (unlikely(offset - bucket * step_us >= step_us))
			bucket++;
		Assert(bucket < sums->bucket_count);
		if (unlikely(__builtin_add_overflow(cells[bucket], values[i], &cells[bucket])))
		{
			/*
			 * The builtin has stored the wrapped sum, so subtracting the value gives the old sum
			 * again.
			 */
			cells[bucket] = (int64) ((uint64) cells[bucket] - (uint64) values[i]);
			bucket_sums_make_room(sums, series, bucket, &cells[bucket]);
			cells[bucket] = values[i];
		}
	}
}

void
pfs_bucket_sums_end(PfsBucketSums *sums)
{
	for (Size cell = 0; cell < sums->cell_count; cell++)
		/* An empty bucket and one whose values add up to 0 look alike: neither is moved to rest. */
		if (sums->cells[cell] != 0)
			pfs_series_sums_add(sums->rest, (int32) (cell / sums->bucket_count),
								sums->first + (int64) (cell % sums->bucket_count) * sums->step_us,
								sums->cells[cell]);
	pfree(sums->cells);
	pfree(sums);
}
