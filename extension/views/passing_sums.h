/*
 * passing_sums.h
 *		Samples of stacks that pass filters, added up by time: a series graph under a focus.
 */
#ifndef PFS_PASSING_SUMS_H
#define PFS_PASSING_SUMS_H

#include "profstore.h"

#include "merge/series_sums.h"
#include "select/selection.h"
#include "tree/filters.h"

typedef struct PfsPassing
{
	const PfsSelection *selection;
	const PfsFilters *filters;
	const int32 *ranks;	 /* of PfsSeries.index: by what its values are added up */
	int32 rank_count;	 /* ranks are less */
	int64 step_us;		 /* 0: by their very times */
	PfsSeriesSums *sums; /* get them, by (rank, start of the bucket) */
} PfsPassing;

/*
 * Where there is much to read, and PostgreSQL's settings for parallel queries allow it, workers
 * read with this process. The caller may be in no loop over another scan of samples.
 */
void pfs_sum_passing(const PfsPassing *passing);

#endif
