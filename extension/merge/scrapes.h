/*
 * scrapes.h
 *		Scrapes of instant types: how many a series has, or which one stands for a range.
 */
#ifndef PFS_SCRAPES_H
#define PFS_SCRAPES_H

#include "profstore.h"

#include "select/selection.h"

/* Whether a query asks for one scrape of each series rather than for averages. */
static inline bool
pfs_picks_scrapes(const PfsSelection *selection)
{
	return !selection->delta && (selection->over_time == PFS_OVER_TIME_LAST ||
								 selection->over_time == PFS_OVER_TIME_MAX);
}

/*
 * Counts the scrapes (distinct times) of each series: by PfsSeries.index, in CurrentMemoryContext.
 */
int64 *pfs_count_scrapes(const PfsSelection *selection);

/*
 * The time of the scrape that stands for each series, by PfsSeries.index; DT_NOBEGIN for one
 * without any. The selection picks scrapes. Raises what pfs_require_scrapes does. Lives in
 * CurrentMemoryContext.
 */
TimestampTz *pfs_choose_scrapes(const PfsSelection *selection);

/*
 * Raises FEATURE_NOT_SUPPORTED where a selection picks scrapes and meets a tier, which keeps sums
 * and counts of them.
 */
void pfs_require_scrapes(const PfsSelection *selection);

#endif
