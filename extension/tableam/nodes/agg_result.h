/*
 * agg_result.h
 *		Converts a group's state to the result of PostgreSQL's own aggregate.
 */
#ifndef PFS_AGG_RESULT_H
#define PFS_AGG_RESULT_H

#include "profstore.h"

#include "tableam/nodes/agg_spec.h"

/*
 * Returns the aggregate's result or, in a partial aggregation, its transition state, serialised for
 * a Finalize Aggregate. Memory comes from CurrentMemoryContext.
 */
Datum pfs_agg_result(const PfsAggSpec *spec, bool is_partial, const int64 *state, bool *is_null);

#endif
