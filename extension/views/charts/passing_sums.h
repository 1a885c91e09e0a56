/*
 * passing_sums.h
 *		Samples of stacks that pass filters, summed by time: a series graph with filters.
 */
#ifndef PFS_PASSING_SUMS_H
#define PFS_PASSING_SUMS_H

#include "profstore.h"

#include "merge/series_sums.h"
#include "select/buckets.h"
#include "select/selection.h"
#include "tree/frames/filters.h"

typedef struct PfsPassing
{
	const PfsSelection *selection;
	const PfsFilters *filters;
	/* for each PfsSeries.index, the number (rank) under which the series' values are added up */
	const int32 *ranks;
	int32 rank_count;	 /* number of ranks; each rank is less than it */
	PfsBuckets buckets;	 /* step_us is 0: one sum per time */
	PfsSeriesSums *sums; /* receives the sums, by (rank, start of the bucket) */
} PfsPassing;

/*
 * Adds the values of all rows whose stacks pass. If there is much to read and PostgreSQL's settings
 * for parallel queries allow it, parallel workers read part of it. The caller must not be inside a
 * loop over another scan of samples.
 */
void pfs_sum_passing(const PfsPassing *passing);

#endif
