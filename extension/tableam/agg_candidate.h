/*
 * agg_candidate.h
 *		What the planner may let ProfstoreAgg do: a relation, its clauses as filters, keys,
 *		aggregates; and what that costs.
 *
 * All of it is allocated in CurrentMemoryContext, the planner's.
 */
#ifndef PFS_AGG_CANDIDATE_H
#define PFS_AGG_CANDIDATE_H

#include "profstore.h"

#include "nodes/pathnodes.h"

#include "tableam/agg_spec.h"

typedef struct PfsAggCandidate
{
	PfsAggregation aggregation;
	RelOptInfo *input;
	List *rels; /* RelOptInfo of each table */
	Cost startup;
	Cost run; /* without emitting groups */
	double group_count;
	BlockNumber pages;
} PfsAggCandidate;

/*
 * Makes a candidate without keys and aggregates; false if the relation has other than profstore
 * tables that the planner has left, or a clause that no filter can be made of.
 */
bool pfs_agg_candidate_begin(PlannerInfo *root, RelOptInfo *input, PfsAggCandidate *candidate);

/* Add an expression or an aggregate, unless it is there; false if we do not know the like. */
bool pfs_agg_candidate_add_key(PfsAggCandidate *candidate, Expr *key);
bool pfs_agg_candidate_add_aggregate(PfsAggCandidate *candidate, Aggref *aggref);

/* Estimates costs and groups, when keys and aggregates are complete. */
void pfs_agg_candidate_cost(PlannerInfo *root, PfsAggCandidate *candidate);

/* Workers that it would take; 0: it is not for parallel processes. */
int pfs_agg_candidate_workers(const PfsAggCandidate *candidate);

#endif
