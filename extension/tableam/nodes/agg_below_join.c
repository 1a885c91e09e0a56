/*
 * agg_below_join.c
 *		ProfstoreAgg below joins.
 *
 * SELECT s.labels->>'service', sum(value) FROM samples JOIN series s ON s.id = series_id GROUP BY 1
 * need not join rows: they are first added up by series_id, and each sum is joined as any row of it
 * would be. What the joins return is added up once more:
 *
 *   Finalize Aggregate by labels->>'service', of transition states
 *   └ joins as planned for so few rows
 *     ├ ProfstoreAgg by series_id, to transition states
 *     └ series
 *
 * This is right if all rows of a group match the same rows in the joins. So the keys are all
 * columns that the joins, or the nodes above them, use.
 *
 * 1. A table is fit (is_fit) if it is on no side of a join whose rows may be missing or count only
 *    once, and all aggregates are of its columns.
 * 2. Its keys are those of the query that are expressions of it alone, and columns that are needed
 *    elsewhere (collect_keys).
 * 3. The joins are planned anew (join_groups) by PostgreSQL's own search, with a relation in the
 *    table's place whose one path is the aggregation. Search knows columns only: expressions and
 *    states join the targets afterwards.
 * 4. A Finalize Aggregate stands above.
 */
#include "tableam/nodes/agg_below_join.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "tableam/nodes/agg_path.h"
#include "tableam/nodes/custom_nodes.h"

/*
 * PostgreSQL has already searched join orders once, and the time of a second search grows with
 * their number.
 */
#define RELATIONS_MAX 8

/* Functions that raise no error for any stored value, or only for times far out of range. */
static const Oid safe_functions[] = {
	F_DATE_BIN_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ,
	F_DATE_BIN_INTERVAL_TIMESTAMP_TIMESTAMP,
	F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
	F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT,
	F_DATE_TRUNC_TEXT_TIMESTAMP,
	F_TIMEZONE_TEXT_TIMESTAMPTZ,
	F_DATE_TIMESTAMPTZ,
	F_DATE_TIMESTAMP,
	F_TIMESTAMP_TIMESTAMPTZ,
};

static bool
may_fail(Oid function, void *context)
{
	for (size_t i = 0; i < lengthof(safe_functions); i++)
		if (safe_functions[i] == function)
			return false;
	/* A leakproof function raises no error that depends on its arguments. */
	return !get_func_leakproof(function);
}

static bool
calls_what_may_fail(Node *node, void *context)
{
	return node != NULL && (check_functions_in_node(node, may_fail, NULL) ||
							expression_tree_walker(node, calls_what_may_fail, NULL));
}

/* Returns the expressions by which the query groups. */
static List *
group_expressions(const PlannerInfo *root)
{
	return get_sortgrouplist_exprs(root->parse->groupClause, root->processed_tlist);
}

/* Returns true if groups could replace the rows of some table in the query. */
static bool
query_allows(PlannerInfo *root, List *having)
{
	const Query *parse = root->parse;
	int relations = bms_num_members(root->all_baserels);
	ListCell *cell;

	/*
	 * the search may choose any legal order, but the order of full joins is only in the list of
	 * joins
	 */
	foreach(cell, root->join_info_list)
		if (((SpecialJoinInfo *) lfirst(cell))->jointype == JOIN_FULL)
			return false;
	/* Volatile functions would be called once per group instead of once per row. */
	return relations <= RELATIONS_MAX && (!enable_geqo || relations < geqo_threshold) &&
		   grouping_is_hashable(parse->groupClause) &&
		   !contain_volatile_functions((Node *) parse->jointree) &&
		   !contain_volatile_functions((Node *) root->processed_tlist) &&
		   !contain_volatile_functions((Node *) having) &&
		   !(parse->hasTargetSRFs && expression_returns_set((Node *) group_expressions(root)));
}

/* Returns true if the joins return each row of the relation once for each match. */
static bool
is_kept_by_joins(const PlannerInfo *root, const RelOptInfo *rel)
{
	ListCell *cell;

	foreach(cell, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(cell);

		/*
		 * Rows on the nullable side of an outer join, or inside a semijoin, may be missing or count
		 * once.
		 */
		if (bms_is_member((int) rel->relid, join->syn_righthand))
			return false;
	}
	/* A lateral reference would need the relation's rows one by one. */
	return bms_is_empty(rel->lateral_relids) && bms_is_empty(rel->lateral_referencers);
}

/*
 * Collects keys for nodes above the joins: columns outside the aggregates, which must be of the
 * candidate's columns, except those in keys. Returns true, to stop the walk, if something is not
 * supported.
 */
static bool
collect_above(Node *node, void *context)
{
	PfsAggCandidate *candidate = context;

	/* An expression that is a key already needs no further columns. */
	if (node == NULL || list_member(candidate->aggregation.keys, node))
		return false;
	if (IsA(node, Aggref))
		/*
		 * An aggregate's arguments are columns of the table and are not keys; the walk does not
		 * enter it.
		 */
		return !pfs_agg_candidate_add_aggregate(candidate, (Aggref *) node);
	/* Columns of other tables are available above the joins anyway. */
	if (IsA(node, Var))
		return (Index) ((Var *) node)->varno == candidate->input->relid &&
			   !pfs_agg_candidate_add_key(candidate, (Expr *) node);
	return expression_tree_walker(node, collect_above, context);
}

/*
 * Collects keys that are expressions of the relation alone, and cannot fail for rows that joins
 * drop.
 */
static void
collect_expressions(PlannerInfo *root, PfsAggCandidate *candidate)
{
	List *expressions = group_expressions(root);
	ListCell *cell;

	foreach(cell, expressions)
	{
		Node *key = lfirst(cell);
		int member;

		/*
		 * The key is computed before the joins, for rows that these would drop, so it must not
		 * raise an error.
		 */
		if (bms_get_singleton_member(pull_varnos(root, key), &member) &&
			(Index) member == candidate->input->relid && !calls_what_may_fail(key, NULL))
			(void) pfs_agg_candidate_add_key(candidate, (Expr *) key);
	}
}

/* Collects keys for joins: the columns that join clauses use. */
static bool
collect_joined(PfsAggCandidate *candidate)
{
	const RelOptInfo *rel = candidate->input;
	/*
	 * attr_needed has 0 for the query's output, which collect_above() reads; other numbers are
	 * relations of join clauses.
	 */
	Relids elsewhere = bms_add_member(bms_make_singleton(0), (int) rel->relid);
	ListCell *cell;

	foreach(cell, rel->reltarget->exprs)
	{
		Expr *column = lfirst(cell);

		/* A placeholder would have to be computed for each row. */
		if (!IsA(column, Var))
			return false;
		if (bms_nonempty_difference(rel->attr_needed[((Var *) column)->varattno - rel->min_attr],
									elsewhere) &&
			!pfs_agg_candidate_add_key(candidate, column))
			return false;
	}
	return true;
}

/* Makes a candidate of the relation; returns false if groups cannot replace its rows. */
static bool
is_fit(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *output, List *having,
	   PfsAggCandidate *candidate)
{
	PfsAggCandidate whole;

	if (!is_kept_by_joins(root, rel) || !pfs_agg_candidate_begin(root, rel, &whole))
		return false;
	collect_expressions(root, &whole);
	if (!collect_joined(&whole) || collect_above((Node *) output->reltarget->exprs, &whole) ||
		collect_above((Node *) having, &whole) || whole.aggregation.keys == NIL)
		return false;
	/*
	 * Costs and the number of groups are those of the whole relation; pfs_agg_partial() changes
	 * only the form of the results.
	 */
	pfs_agg_candidate_cost(root, &whole);
	*candidate = pfs_agg_partial(&whole);
	return true;
}

/* Makes the relation that returns groups. Its outputs are only columns at first. */
static RelOptInfo *
make_grouped_rel(PlannerInfo *root, const PfsAggCandidate *candidate)
{
	RelOptInfo *rel = palloc(sizeof(RelOptInfo));
	int workers = pfs_agg_candidate_workers(candidate);
	ListCell *cell;

	/*
	 * The copy keeps the relation's number and its statistics, so joins with it are estimated as
	 * before, but with fewer rows.
	 */
	*rel = *candidate->input;
	rel->rows = candidate->group_count;
	rel->pathlist = rel->ppilist = rel->partial_pathlist = NIL;
	/* Partitions do not exist for groups: joins by partition are impossible. */
	rel->part_scheme = NULL;
	rel->nparts = 0;
	rel->boundinfo = NULL;
	rel->part_rels = NULL;
	rel->consider_partitionwise_join = false;
	rel->reltarget = create_empty_pathtarget();
	foreach(cell, candidate->aggregation.keys)
		if (IsA(lfirst(cell), Var))
			add_column_to_pathtarget(rel->reltarget, lfirst(cell), 0);
	set_pathtarget_cost_width(root, rel->reltarget);
	add_path(rel, &pfs_agg_path(rel, rel->reltarget, candidate, NIL, 0)->path);
	if (workers > 0)
		add_partial_path(rel, &pfs_agg_path(rel, rel->reltarget, candidate, NIL, workers)->path);
	set_cheapest(rel);
	return rel;
}

/*
 * Adds outputs that the search of join orders cannot handle, expressions and states, to a relation
 * and its paths.
 */
static void
add_outputs(RelOptInfo *rel, const PfsAggregation *aggregation)
{
	ListCell *cell;

	foreach(cell, aggregation->keys)
		if (!IsA(lfirst(cell), Var))
			add_column_to_pathtarget(rel->reltarget, lfirst(cell), 0);
	foreach(cell, aggregation->aggrefs)
		add_column_to_pathtarget(rel->reltarget, lfirst(cell), 0);
}

/* Plans the query's joins with groups instead of the candidate's rows. */
static RelOptInfo *
join_groups(PlannerInfo *root, const PfsAggCandidate *candidate)
{
	RelOptInfo *grouped = make_grouped_rel(root, candidate);
	PlannerInfo *search = palloc(sizeof(PlannerInfo));
	Size array_bytes = sizeof(RelOptInfo *) * (Size) root->simple_rel_array_size;
	RelOptInfo *top;
	int member = -1;
	ListCell *cell;

	/* The search writes only into the copy, so the paths of PostgreSQL's own plan stay. */
	*search = *root;
	search->simple_rel_array = palloc(array_bytes);
	memcpy(search->simple_rel_array, root->simple_rel_array, array_bytes);
	search->simple_rel_array[grouped->relid] = grouped;
	/* Joins found for the plan without groups must not be used. */
	search->join_rel_list = search->initial_rels = NIL;
	search->join_rel_hash = NULL;
	while ((member = bms_next_member(root->all_baserels, member)) >= 0)
		search->initial_rels = lappend(search->initial_rels, search->simple_rel_array[member]);

	top = standard_join_search(search, list_length(search->initial_rels), search->initial_rels);
	/*
	 * After the search: outputs that are no columns would have confused it, and paths share the
	 * target of their relation.
	 */
	add_outputs(grouped, &candidate->aggregation);
	foreach(cell, search->join_rel_list)
	{
		RelOptInfo *rel = lfirst(cell);

		if (bms_is_member((int) grouped->relid, rel->relids))
			add_outputs(rel, &candidate->aggregation);
	}
	return top;
}

static void
below_join_add_paths(PlannerInfo *root, RelOptInfo *output, List *having, RelOptInfo *joined,
					 double group_count)
{
	PathTarget *target = pfs_agg_partial_target(root, output->reltarget, having);
	Path *path = (Path *) create_projection_path(root, joined, joined->cheapest_total_path, target);

	add_path(output, pfs_agg_final_path(root, output, path, having, group_count));
	/* Finalize Aggregate above a Gather: each worker joins a part of the groups. */
	if (!output->consider_parallel || joined->partial_pathlist == NIL ||
		!is_parallel_safe(root, (Node *) target->exprs))
		return;
	path =
		(Path *) create_projection_path(root, joined, linitial(joined->partial_pathlist), target);
	path = (Path *) create_gather_path(root, joined, path, target, NULL, NULL);
	add_path(output, pfs_agg_final_path(root, output, path, having, group_count));
}

void
pfs_add_paths_below_join(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *having)
{
	int member = -1;
	double group_count;

	if (!query_allows(root, having))
		return;
	/* The query's groups, which Finalize Aggregate returns. */
	group_count = root->parse->groupClause == NIL
					  ? 1
					  : estimate_num_groups(root, group_expressions(root), input->rows, NULL, NULL);
	while ((member = bms_next_member(root->all_baserels, member)) >= 0)
	{
		PfsAggCandidate candidate;
		RelOptInfo *joined;

		if (!is_fit(root, root->simple_rel_array[member], output, having, &candidate))
			continue;
		joined = join_groups(root, &candidate);
		/* A dummy relation returns no rows, so it needs no path. */
		if (!IS_DUMMY_REL(joined))
			below_join_add_paths(root, output, having, joined, group_count);
	}
}
