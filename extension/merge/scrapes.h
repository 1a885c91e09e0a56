/*
 * scrapes.h
 *		Scrapes of instant types: how many a series has, and which one represents a range.
 */
#ifndef PFS_SCRAPES_H
#define PFS_SCRAPES_H

#include "profstore.h"

#include "select/selection.h"

/*
 * Returns true if a query uses one scrape of each series (last_over_time, max_over_time) instead of
 * averages.
 */
static inline bool
pfs_picks_scrapes(const PfsSelection *selection)
{
	return !selection->delta && (selection->over_time == PFS_OVER_TIME_LAST ||
								 selection->over_time == PFS_OVER_TIME_MAX);
}

/*
 * Returns the number of scrapes (distinct times) of each series, by PfsSeries.index, in
 * CurrentMemoryContext.
 */
int64 *pfs_count_scrapes(const PfsSelection *selection);

/*
 * Returns the time of the scrape that represents each series, by PfsSeries.index, in
 * CurrentMemoryContext; DT_NOBEGIN for a series without scrapes. Requires pfs_picks_scrapes().
 * Raises the error of pfs_require_scrapes().
 */
TimestampTz *pfs_choose_scrapes(const PfsSelection *selection);

/*
 * Raises FEATURE_NOT_SUPPORTED if a selection picks scrapes and includes a tier, which has only
 * their sums and counts.
 */
void pfs_require_scrapes(const PfsSelection *selection);

#endif
