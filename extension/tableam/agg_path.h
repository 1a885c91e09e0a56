/*
 * agg_path.h
 *		A candidate as paths: the whole aggregation, or its part below a Finalize Aggregate.
 */
#ifndef PFS_AGG_PATH_H
#define PFS_AGG_PATH_H

#include "profstore.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "tableam/agg_candidate.h"

/*
 * Emits target, filtered by having. With workers, each process returns the groups of its part of
 * the blocks; the candidate has to be partial then.
 */
CustomPath *pfs_agg_path(RelOptInfo *rel, PathTarget *target, const PfsAggCandidate *candidate,
						 List *having, int workers);

/*
 * The same candidate, but with transition states for results, so that PostgreSQL's Finalize
 * Aggregate finds what its own Partial Aggregate would give it. A group may come several times.
 */
PfsAggCandidate pfs_agg_partial(const PfsAggCandidate *candidate);

/*
 * What a Finalize Aggregate that emits target reads: keys, transition states, other columns that
 * target and having need.
 */
PathTarget *pfs_agg_partial_target(PlannerInfo *root, const PathTarget *target, List *having);

/* Finalize Aggregate over a path with that target; keys must be hashable. */
Path *pfs_agg_final_path(PlannerInfo *root, RelOptInfo *output, Path *partial, List *having,
						 double group_count);

/* Registers the node. */
void pfs_agg_path_init(void);

#endif
