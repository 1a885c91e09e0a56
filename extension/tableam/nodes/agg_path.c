/*
 * agg_path.c
 *		Makes paths and plans of ProfstoreAgg.
 *
 * The plan stores columns, keys, aggregates and clauses in lists, from which custom_agg_begin.c
 * reads them.
 */
#include "tableam/nodes/agg_path.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"

#include "tableam/nodes/custom_agg.h"
#include "tableam/nodes/custom_nodes.h"

static Plan *plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list,
					  List *clauses, List *children);

static const CustomPathMethods path_methods = {
	.CustomName = "ProfstoreAgg",
	.PlanCustomPath = plan_agg,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "ProfstoreAgg",
	.CreateCustomScanState = pfs_custom_agg_create_state,
};

CustomPath *
pfs_agg_path(RelOptInfo *rel, PathTarget *target, const PfsAggCandidate *candidate, List *having,
			 int workers)
{
	CustomPath *path = makeNode(CustomPath);
	PfsAggregation *aggregation = palloc(sizeof(PfsAggregation));

	/* The candidate's lists are shared by all its paths. */
	*aggregation = candidate->aggregation;
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = candidate->input->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	/* PostgreSQL does not copy custom_private of a path, so its elements need not be nodes */
	path->custom_private = list_make2(aggregation, having);
	path->methods = &path_methods;

	path->path.rows = candidate->group_count;
	path->path.startup_cost =
		/* All groups are computed before the first row is returned. */
		candidate->startup + candidate->run / pfs_parallel_divisor(workers) + target->cost.startup;
	path->path.total_cost = path->path.startup_cost +
							(cpu_tuple_cost + target->cost.per_tuple) * candidate->group_count;
	return path;
}

static Aggref *
partial_aggref(Aggref *aggref)
{
	Aggref *partial = copyObject(aggref);

	/* A partial aggregate returns its transition state, serialised if it is of type internal. */
	mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
	return partial;
}

PfsAggCandidate
pfs_agg_partial(const PfsAggCandidate *candidate)
{
	PfsAggCandidate partial = *candidate;
	ListCell *cell;

	/* The aggregates' list is changed, so the partial candidate has a list of its own. */
	partial.aggregation.is_partial = true;
	partial.aggregation.aggrefs = list_copy(partial.aggregation.aggrefs);
	foreach(cell, partial.aggregation.aggrefs)
		lfirst(cell) = partial_aggref(lfirst(cell));
	return partial;
}

/* Collects the aggregates and columns of an expression that target does not have yet. */
static bool
add_inputs(Node *node, void *context)
{
	PathTarget *target = context;

	/* An expression that the target has needs no columns. */
	if (node == NULL || list_member(target->exprs, node))
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, Aggref))
	{
		add_column_to_pathtarget(target, (Expr *) node, 0);
		return false;
	}
	return expression_tree_walker(node, add_inputs, context);
}

PathTarget *
pfs_agg_partial_target(PlannerInfo *root, const PathTarget *target, List *having)
{
	PathTarget *partial = create_empty_pathtarget();
	List *others = NIL;
	int i = 0;
	ListCell *cell;

	foreach(cell, target->exprs)
	{
		Expr *expression = lfirst(cell);
		Index reference = get_pathtarget_sortgroupref(target, i++);

		/*
		 * Grouping expressions are computed below; other expressions are computed above, of their
		 * columns and aggregates.
		 */
		if (reference != 0 &&
			get_sortgroupref_clause_noerr(reference, root->parse->groupClause) != NULL)
			add_column_to_pathtarget(partial, expression, reference);
		else
			others = lappend(others, expression);
	}
	add_inputs((Node *) others, partial);
	add_inputs((Node *) having, partial);
	/* Aggregates below return transition states. */
	foreach(cell, partial->exprs)
	{
		Aggref *aggref = lfirst(cell);

		if (IsA(aggref, Aggref))
			lfirst(cell) = partial_aggref(aggref);
	}
	return set_pathtarget_cost_width(root, partial);
}

Path *
pfs_agg_final_path(PlannerInfo *root, RelOptInfo *output, Path *partial, List *having,
				   double group_count)
{
	const Query *parse = root->parse;
	AggClauseCosts costs;

	memset(&costs, 0, sizeof(costs));
	if (parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	return (Path *) create_agg_path(root, output, partial, output->reltarget,
									/*
									 * A Finalize Aggregate without keys is plain: it returns one
									 * row.
									 */
									parse->groupClause != NIL ? AGG_HASHED : AGG_PLAIN,
									AGGSPLIT_FINAL_DESERIAL, parse->groupClause, having, &costs,
									group_count);
}

static Plan *
plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
		 List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	const PfsAggregation *aggregation = linitial(path->custom_private);
	List *outputs = list_concat_copy(aggregation->keys, aggregation->aggrefs);
	ListCell *cell;

	/* The node's own tuple has the keys, then the aggregates; Vars of upper nodes refer to it. */
	foreach(cell, outputs)
		scan->custom_scan_tlist =
			lappend(scan->custom_scan_tlist,
					makeTargetEntry(lfirst(cell), (AttrNumber) (foreach_current_index(cell) + 1),
									NULL, false));
	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = lsecond(path->custom_private);
	scan->flags = path->flags;
	scan->custom_private = pfs_aggregation_to_private(aggregation, &scan->custom_exprs);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

void
pfs_agg_path_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
}
