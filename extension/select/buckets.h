/*
 * buckets.h
 *		Buckets: ranges of time of equal length, aligned to the Unix epoch or to another time.
 */
#ifndef PFS_BUCKETS_H
#define PFS_BUCKETS_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Microseconds from the Unix epoch to the server's. */
#define PFS_EPOCH_SHIFT_US ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* The buckets of a graph. */
typedef struct PfsBuckets
{
	int64 step_us;	/* width of a bucket */
	int64 phase_us; /* time from a multiple of step_us since the Unix epoch to a start; < step_us */
} PfsBuckets;

/*
 * Returns the microseconds of an interval argument, whose name appears in errors. Raises
 * INVALID_PARAMETER_VALUE for months, and for an interval that is not positive or too long.
 */
int64 pfs_step_us(const Interval *step, const char *name);

/* Returns the microseconds from the start of a time's bucket to the time. */
static inline int64
pfs_bucket_offset(TimestampTz time, int64 step_us)
{
	int64 offset = (time + PFS_EPOCH_SHIFT_US) % step_us;

	return offset < 0 ? offset + step_us : offset;
}

static inline TimestampTz
pfs_bucket_start(TimestampTz time, int64 step_us)
{
	return time - pfs_bucket_offset(time, step_us);
}

/* Returns the start of the bucket of a time. */
static inline TimestampTz
pfs_buckets_start(const PfsBuckets *buckets, TimestampTz time)
{
	return pfs_bucket_start(time - buckets->phase_us, buckets->step_us) + buckets->phase_us;
}

/*
 * Returns the start of the first bucket at or after a time that lies offset microseconds into its
 * bucket.
 */
static inline TimestampTz
pfs_bucket_round_up(TimestampTz time, int64 offset, int64 step_us)
{
	return offset == 0 ? time : time - offset + step_us;
}

#endif
