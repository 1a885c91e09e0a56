/*
 * agg_result.h
 *		From a group's state to the value that PostgreSQL's own aggregate would return.
 */
#ifndef PFS_AGG_RESULT_H
#define PFS_AGG_RESULT_H

#include "profstore.h"

#include "tableam/agg_spec.h"

/*
 * The aggregate's result, or in a partial aggregation its transition state, serialised as a
 * Finalize Aggregate expects it. Memory comes from CurrentMemoryContext.
 */
Datum pfs_agg_result(const PfsAggSpec *spec, bool is_partial, const int64 *state, bool *is_null);

#endif
