/*
 * agg_path.h
 *		Paths for a candidate: the whole aggregation, or its part below a Finalize Aggregate.
 */
#ifndef PFS_AGG_PATH_H
#define PFS_AGG_PATH_H

#include "profstore.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "tableam/nodes/agg_candidate.h"

/*
 * Makes a path that returns target, filtered by having. With workers, each process returns the
 * groups of its part of the blocks; the candidate must be partial then.
 */
CustomPath *pfs_agg_path(RelOptInfo *rel, PathTarget *target, const PfsAggCandidate *candidate,
						 List *having, int workers);

/*
 * Returns a copy of the candidate whose results are transition states, as a Partial Aggregate of
 * PostgreSQL returns them to its Finalize Aggregate. A group may be returned several times.
 */
PfsAggCandidate pfs_agg_partial(const PfsAggCandidate *candidate);

/*
 * Returns the target that a Finalize Aggregate needs as input in order to return target: keys,
 * transition states, and other columns in target and having.
 */
PathTarget *pfs_agg_partial_target(PlannerInfo *root, const PathTarget *target, List *having);

/* Makes a Finalize Aggregate over a path of transition states. The keys must be hashable. */
Path *pfs_agg_final_path(PlannerInfo *root, RelOptInfo *output, Path *partial, List *having,
						 double group_count);

/* Registers the custom node. */
void pfs_agg_path_init(void);

#endif
