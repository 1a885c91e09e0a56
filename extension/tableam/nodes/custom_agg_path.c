/*
 * custom_agg_path.c
 *		Paths of ProfstoreAgg for queries of one relation.
 *
 * There are two kinds: the node aggregates by itself; or it runs in parallel processes, each for a
 * part of the blocks, and returns transition states to PostgreSQL's Finalize Aggregate.
 *
 * The query must have only profstore tables, or one partitioned table of them, clauses that can
 * become filters, and supported keys and aggregates. agg_below_join.c handles joins.
 */
#include "tableam/nodes/custom_nodes.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

#include "tableam/nodes/agg_below_join.h"
#include "tableam/nodes/agg_path.h"
#include "tableam/nodes/custom_agg.h"

static create_upper_paths_hook_type previous_hook = NULL;

static bool
translate_keys(const PlannerInfo *root, PfsAggCandidate *candidate)
{
	ListCell *cell;

	/* Each key of GROUP BY must be a supported expression. */
	foreach(cell, root->parse->groupClause)
		if (!pfs_agg_candidate_add_key(candidate,
									   get_sortgroupclause_tle(lfirst_node(SortGroupClause, cell),
															   root->processed_tlist)
										   ->expr))
			return false;
	return true;
}

static bool
translate_aggregates(const PathTarget *target, const List *having, PfsAggCandidate *candidate)
{
	/* Columns outside aggregates can only be keys, or depend on them, in a valid query. */
	List *nodes = pull_var_clause((Node *) list_concat_copy(target->exprs, having),
								  PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
									  PVC_INCLUDE_PLACEHOLDERS);
	ListCell *cell;

	foreach(cell, nodes)
	{
		Node *node = lfirst(cell);

		if (!IsA(node, Var) &&
			!(IsA(node, Aggref) && pfs_agg_candidate_add_aggregate(candidate, (Aggref *) node)))
			return false;
	}
	return true;
}

/* Makes the candidate; returns false if the query has a form that is not supported. */
static bool
agg_recognise(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *having,
			  PfsAggCandidate *candidate)
{
	/* HAVING is computed by the node for each group. */
	if (contain_subplans((Node *) having) || contain_volatile_functions((Node *) having) ||
		!pfs_agg_candidate_begin(root, input, candidate) || !translate_keys(root, candidate) ||
		!translate_aggregates(output->reltarget, having, candidate))
		return false;
	pfs_agg_candidate_cost(root, candidate);
	return true;
}

static void
add_parallel_path(PlannerInfo *root, RelOptInfo *output, const PfsAggCandidate *candidate,
				  List *having)
{
	PfsAggCandidate partial = pfs_agg_partial(candidate);
	int workers = output->consider_parallel ? pfs_agg_candidate_workers(candidate) : 0;
	RelOptInfo *partial_rel;
	PathTarget *target;
	CustomPath *path;
	Path *gather;
	double row_count;

	/* 0 workers: PostgreSQL does not expect a gain. */
	if (workers <= 0)
		return;
	partial_rel = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, output->relids);
	partial_rel->consider_parallel = true;
	target = pfs_agg_partial_target(root, output->reltarget, having);
	path = pfs_agg_path(partial_rel, target, &partial, NIL, workers);
	/*
	 * Each process returns its own groups, so the Gather returns more rows than there are groups.
	 */
	row_count = path->path.rows * pfs_parallel_divisor(workers);
	gather = (Path *) create_gather_path(root, partial_rel, &path->path, target, NULL, &row_count);
	add_path(output, pfs_agg_final_path(root, output, gather, having, candidate->group_count));
}

static void
agg_add_paths(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *having)
{
	PfsAggCandidate candidate;

	if (!agg_recognise(root, input, output, having, &candidate))
		return;
	add_path(output, &pfs_agg_path(output, output->reltarget, &candidate, having, 0)->path);
	add_parallel_path(root, output, &candidate, having);
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
				   RelOptInfo *output, void *extra)
{
	const Query *parse = root->parse;
	List *having;

	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	/* Grouping sets need several groupings of the rows; row marks need single rows. */
	if (!pfs_enable_agg || stage != UPPERREL_GROUP_AGG || parse->groupingSets != NIL ||
		parse->rowMarks != NIL || (parse->groupClause == NIL && !parse->hasAggs))
		return;
	having = (List *) ((const GroupPathExtraData *) extra)->havingQual;
	if (input->reloptkind == RELOPT_JOINREL)
		pfs_add_paths_below_join(root, input, output, having);
	else
		agg_add_paths(root, input, output, having);
}

void
pfs_custom_agg_init(void)
{
	pfs_agg_path_init();
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
