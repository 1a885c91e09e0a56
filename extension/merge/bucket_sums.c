/*
 * bucket_sums.c
 *		An array of sums.
 */
#include "merge/bucket_sums.h"

#include "base/arrays.h"
#include "select/buckets.h"

PfsBucketSums *
pfs_bucket_sums_begin(PfsSeriesSums *rest, int32 series_count, TimestampTz from, TimestampTz to,
					  int64 step_us, Size bytes)
{
	PfsBucketSums *sums;
	TimestampTz first;
	uint64 bucket_count;
	uint64 span;

	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to) || from >= to)
		return NULL;
	first = pfs_bucket_start(from, step_us);
	span = (uint64) (to - 1) - (uint64) first;
	bucket_count = span / (uint64) step_us + 1;
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

void
pfs_bucket_sums_end(PfsBucketSums *sums)
{
	for (Size cell = 0; cell < sums->cell_count; cell++)
		if (sums->cells[cell] != 0)
			pfs_series_sums_add(sums->rest, (int32) (cell / sums->bucket_count),
								sums->first + (int64) (cell % sums->bucket_count) * sums->step_us,
								sums->cells[cell]);
	pfree(sums->cells);
	pfree(sums);
}
