/*
 * discoveries.c
 *		Controls the rate of false discoveries among many tests.
 */
#include "insight/statistic/discoveries.h"

#include <math.h>
#include <stdlib.h>

#include "insight/statistic/student.h"

/* Deploys change few functions; a kind of request has a large part of them. */
#define MANY_CHANGES 8
#define MANY_PART	 0.1

static int
compare_indirect(const void *a, const void *b, void *values)
{
	const double *p = values;
	double left = p[*(const uint32_t *) a];
	double right = p[*(const uint32_t *) b];

	return (left > right) - (left < right);
}

void
pfs_false_discovery_rates(const double *p, uint32_t count, double *q, uint32_t *order)
{
	double least = 1;

	for (uint32_t i = 0; i < count; i++)
	{
		order[i] = i;
		q[i] = p[i];
	}
	qsort_r(order, count, sizeof(uint32_t), compare_indirect, q);
	/* p * count / rank (Benjamini and Hochberg), but at most the rate of any larger p-value. */
	for (uint32_t rank = count; rank > 0; rank--)
	{
		uint32_t i = order[rank - 1];

		least = fmin(least, p[i] * count / rank);
		q[i] = least;
	}
}

double
pfs_detectable_change(const PfsChange *change, double least, double min_change, double max_rate,
					  uint32_t found, uint32_t tested)
{
	/* The bound of p-values if the number of findings stays as it is. */
	double rate = max_rate * fmax(found, 1) / fmax(tested, 1);
	double tested_bound;
	double missed;

	if (isnan(change->error) || change->freedom < 1 || rate <= 0)
		return NAN;
	/* p-values are two-sided. */
	tested_bound = least + pfs_student_bound(fmin(rate / 2, 0.5), change->freedom) * change->error;
	missed = pfs_student_bound(0.05, change->freedom) * change->error;
	/* the estimate must exceed both bounds, and is below a change by as much in 5 of 100 cases */
	return expm1(fmax(tested_bound, log1p(min_change)) + missed);
}

bool
pfs_changes_are_many(uint32_t found, uint32_t tested)
{
	return found >= MANY_CHANGES && found >= MANY_PART * tested;
}
