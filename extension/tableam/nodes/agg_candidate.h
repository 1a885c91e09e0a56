/*
 * agg_candidate.h
 *		An aggregation that the planner may leave to ProfstoreAgg: a relation, its clauses as
 *		filters, keys, aggregates, and their cost. Everything is allocated in
 *		CurrentMemoryContext, the planner's.
 */
#ifndef PFS_AGG_CANDIDATE_H
#define PFS_AGG_CANDIDATE_H

#include "profstore.h"

#include "nodes/pathnodes.h"

#include "tableam/nodes/agg_spec.h"

typedef struct PfsAggCandidate
{
	PfsAggregation aggregation;
	RelOptInfo *input;
	List *rels; /* RelOptInfo of each table */
	Cost startup;
	Cost run; /* cost of the aggregation without returning its groups */
	double group_count;
	BlockNumber pages;
} PfsAggCandidate;

/*
 * Starts a candidate without keys and aggregates. Returns false if the relation has tables other
 * than profstore tables after pruning, or a clause that cannot become a filter.
 */
bool pfs_agg_candidate_begin(PlannerInfo *root, RelOptInfo *input, PfsAggCandidate *candidate);

/* Add a key or an aggregate, unless it is present. Return false if it is not supported. */
bool pfs_agg_candidate_add_key(PfsAggCandidate *candidate, Expr *key);
bool pfs_agg_candidate_add_aggregate(PfsAggCandidate *candidate, Aggref *aggref);

/* Estimates costs and groups. Call it when keys and aggregates are complete. */
void pfs_agg_candidate_cost(PlannerInfo *root, PfsAggCandidate *candidate);

/* Returns the number of workers that the candidate would use; 0 if it cannot run in parallel. */
int pfs_agg_candidate_workers(const PfsAggCandidate *candidate);

#endif
