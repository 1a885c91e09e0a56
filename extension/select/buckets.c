/*
 * buckets.c
 *		Computes the length of buckets from an argument.
 */
#include "select/buckets.h"

#define MAX_STEP_DAYS 36500

int64
pfs_step_us(const Interval *step, const char *name)
{
	int64 step_us;

	if (step->month != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must not contain months or years", name),
						errdetail("Months and years differ in length."),
						errhint("Use days, hours, minutes or seconds.")));
	if (llabs(step->day) > MAX_STEP_DAYS || llabs(step->time / USECS_PER_DAY) > MAX_STEP_DAYS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must not be longer than %d days", name, MAX_STEP_DAYS)));
	step_us = step->day * USECS_PER_DAY + step->time;
	if (step_us <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be greater than zero", name)));
	return step_us;
}
