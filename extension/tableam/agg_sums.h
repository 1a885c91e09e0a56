/*
 * agg_sums.h
 *		Whether sums beside samples may stand for the rows that an aggregation adds up: for the
 *		planner's costs as for the executor.
 */
#ifndef PFS_AGG_SUMS_H
#define PFS_AGG_SUMS_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/scan/block_scan.h"
#include "tableam/agg_spec.h"

/* The sums that tell what the aggregation of this table asks for, PFS_PART_ROWS where none do. */
PfsSegmentPart pfs_agg_sums(const PfsAggregation *aggregation, Relation relation);

#endif
