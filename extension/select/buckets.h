/*
 * buckets.h
 *		Stretches of time of one length that align to the Unix epoch.
 */
#ifndef PFS_BUCKETS_H
#define PFS_BUCKETS_H

#include "profstore.h"

#include "datatype/timestamp.h"

/* Microseconds from the Unix epoch to the server's. */
#define PFS_EPOCH_SHIFT_US ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/*
 * The microseconds of an argument, whose name is for errors. Raises INVALID_PARAMETER_VALUE for
 * months, what is not positive, or too long.
 */
int64 pfs_step_us(const Interval *step, const char *name);

/* Microseconds from the beginning of its bucket to a time. */
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

/* The first beginning of a bucket at or after a time that is so far into one. */
static inline TimestampTz
pfs_bucket_round_up(TimestampTz time, int64 offset, int64 step_us)
{
	return offset == 0 ? time : time - offset + step_us;
}

#endif
