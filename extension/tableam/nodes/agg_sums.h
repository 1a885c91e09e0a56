/*
 * agg_sums.h
 *		Decides whether tables of sums can replace rows in an aggregation, for the planner's
 *		costs and for the executor.
 */
#ifndef PFS_AGG_SUMS_H
#define PFS_AGG_SUMS_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/scan/block_scan.h"
#include "tableam/nodes/agg_spec.h"

/*
 * Returns the table of sums from which this aggregation can be computed; PFS_PART_ROWS if there is
 * none.
 */
PfsSegmentPart pfs_agg_sums(const PfsAggregation *aggregation, Relation relation);

#endif
