/*
 * custom_agg_path.c
 *		ProfstoreAgg for the planner: recognising queries, paths, costs, and the plan.
 *
 * Two ways: the node aggregates by itself; or it runs in parallel processes, each for the blocks
 * that come to it, and hands transition states to PostgreSQL's own Finalize Aggregate.
 *
 * 1. A query is plain if it has nothing but tables of ours, or one partitioned, clauses that
 *    filters can be made of, keys and aggregates that the node knows.
 * 2. What is recognised becomes a path. It costs what reading does, where sums stand for most rows,
 *    and something for each row and aggregate.
 * 3. The plan carries the columns, keys, aggregates and clauses in lists, which begin reads again.
 */
#include "tableam/custom_nodes.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"

#include "store/segment/summary.h"
#include "tableam/agg_spec.h"
#include "tableam/agg_sums.h"

/*
 * Grouping a row and adding it to one aggregate, where the executor takes cpu_tuple_cost for a row.
 */
#define GROUP_COST_PER_ROW (cpu_tuple_cost * 0.03)
#define ADD_COST_PER_ROW   (cpu_tuple_cost * 0.02)

static create_upper_paths_hook_type previous_hook = NULL;

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

/* A query that we aggregate, and what it costs. */
typedef struct Candidate
{
	PfsAggregation aggregation;
	RelOptInfo *input;
	Cost startup;
	Cost run; /* without emitting groups */
	double group_count;
	BlockNumber pages;
} Candidate;

/*
 * Collects the tables below a relation, those that the planner has not pruned; false if one is not
 * a profstore table.
 */
static bool
collect_tables(PlannerInfo *root, RelOptInfo *rel, List **rels)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
	ListCell *cell;

	if (!entry->inh)
	{
		*rels = lappend(*rels, rel);
		return pfs_is_plain_profstore_rel(rel, entry);
	}
	if (entry->rtekind != RTE_RELATION)
		return false;
	foreach(cell, root->append_rel_list)
	{
		const AppendRelInfo *child = lfirst(cell);
		RelOptInfo *child_rel;

		if (child->parent_relid != rel->relid)
			continue;
		child_rel = root->simple_rel_array[child->child_relid];
		if (child_rel == NULL || IS_DUMMY_REL(child_rel))
			continue;
		if (!collect_tables(root, child_rel, rels))
			return false;
	}
	return true;
}

static bool
translate_quals(RelOptInfo *rel, PfsAggregation *aggregation)
{
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		const RestrictInfo *clause = lfirst(cell);
		PfsPushedQual *qual = palloc0(sizeof(PfsPushedQual));

		if (clause->pseudoconstant || !pfs_pushdown_translate(clause->clause, rel->relid, qual))
			return false;
		aggregation->quals = lappend(aggregation->quals, qual);
	}
	return true;
}

static bool
translate_keys(PlannerInfo *root, Index index, PfsAggregation *aggregation)
{
	ListCell *cell;

	foreach(cell, root->parse->groupClause)
	{
		TargetEntry *entry =
			get_sortgroupclause_tle(lfirst_node(SortGroupClause, cell), root->processed_tlist);
		AttrNumber attnum;

		if (!pfs_agg_translate_key(entry->expr, index, &attnum))
			return false;
		aggregation->keys = lappend(aggregation->keys, entry->expr);
		aggregation->key_columns = lappend_int(aggregation->key_columns, attnum);
	}
	return list_length(aggregation->keys) <= PFS_AGG_KEYS_MAX;
}

static bool
translate_aggregates(Index index, const PathTarget *target, const List *having,
					 PfsAggregation *aggregation)
{
	List *nodes = pull_var_clause((Node *) list_concat_copy(target->exprs, having),
								  PVC_INCLUDE_AGGREGATES | PVC_INCLUDE_WINDOWFUNCS |
									  PVC_INCLUDE_PLACEHOLDERS);
	ListCell *cell;

	foreach(cell, nodes)
	{
		Node *node = lfirst(cell);
		PfsAggSpec *spec;

		if (IsA(node, Var))
			continue;
		if (!IsA(node, Aggref))
			return false;
		if (list_member(aggregation->aggrefs, node))
			continue;
		spec = palloc(sizeof(PfsAggSpec));
		if (!pfs_agg_translate((const Aggref *) node, index, spec))
			return false;
		aggregation->aggrefs = lappend(aggregation->aggrefs, node);
		aggregation->aggregates = lappend(aggregation->aggregates, spec);
	}
	return true;
}

static bool
query_is_plain(const PlannerInfo *root, RelOptInfo *input, List *having)
{
	const Query *parse = root->parse;

	return input->reloptkind == RELOPT_BASEREL && input->rtekind == RTE_RELATION &&
		   !IS_DUMMY_REL(input) && bms_is_empty(input->lateral_relids) &&
		   parse->groupingSets == NIL && parse->rowMarks == NIL &&
		   (parse->groupClause != NIL || parse->hasAggs) && !contain_subplans((Node *) having) &&
		   !contain_volatile_functions((Node *) having);
}

static int
column_count(const PfsAggregation *aggregation)
{
	Bitmapset *columns = NULL;
	ListCell *cell;

	foreach(cell, aggregation->key_columns)
		columns = bms_add_member(columns, lfirst_int(cell));
	foreach(cell, aggregation->aggregates)
		columns = bms_add_member(columns, ((const PfsAggSpec *) lfirst(cell))->attnum);
	return bms_num_members(bms_del_member(columns, 0));
}

/*
 * The part of the rows that is read. Compaction has made sums of nearly all, and few segments are
 * cut by a range.
 */
static double
share_of_rows(const PfsAggregation *aggregation)
{
	Relation relation = table_open(aggregation->table, NoLock);
	bool has_sums = pfs_enable_summaries && pfs_agg_sums(aggregation, relation) != PFS_PART_ROWS;

	table_close(relation, NoLock);
	return has_sums ? 1.0 / PFS_ROWS_PER_SUM : 1.0;
}

static void
cost_candidate(PlannerInfo *root, Candidate *candidate, List *rels)
{
	PfsAggregation *aggregation = &candidate->aggregation;
	int columns = column_count(aggregation);
	double share = share_of_rows(aggregation);
	Cost per_row = GROUP_COST_PER_ROW + ADD_COST_PER_ROW * list_length(aggregation->aggregates);
	ListCell *cell;

	foreach(cell, rels)
	{
		RelOptInfo *rel = lfirst(cell);
		PfsReadCost cost = pfs_read_cost(root, rel, rel->baserestrictinfo, columns);

		candidate->startup += cost.startup;
		candidate->run += share * (cost.run + per_row * Min(cost.row_count, rel->rows));
		candidate->pages += rel->pages;
		aggregation->scanned =
			lappend_oid(aggregation->scanned, planner_rt_fetch(rel->relid, root)->relid);
	}
	candidate->group_count = 1;
	if (aggregation->keys != NIL)
		candidate->group_count =
			estimate_num_groups(root, aggregation->keys, candidate->input->rows, NULL, NULL);
}

/* Makes the candidate; false if the query has a shape that we do not know. */
static bool
recognise(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, List *having,
		  Candidate *candidate)
{
	PfsAggregation *aggregation = &candidate->aggregation;
	List *rels = NIL;

	memset(candidate, 0, sizeof(*candidate));
	candidate->input = input;
	if (!query_is_plain(root, input, having) || !collect_tables(root, input, &rels) ||
		!translate_quals(input, aggregation) || !translate_keys(root, input->relid, aggregation) ||
		!translate_aggregates(input->relid, output->reltarget, having, aggregation))
		return false;
	aggregation->table = planner_rt_fetch(input->relid, root)->relid;
	cost_candidate(root, candidate, rels);
	return true;
}

static CustomPath *
make_path(RelOptInfo *rel, PathTarget *target, const Candidate *candidate, List *having,
		  int workers)
{
	CustomPath *path = makeNode(CustomPath);
	PfsAggregation *aggregation = palloc(sizeof(PfsAggregation));

	*aggregation = candidate->aggregation;
	aggregation->is_partial = workers > 0;
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = target;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = candidate->input->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	/* nothing copies these: any pointer will do */
	path->custom_private = list_make2(aggregation, having);
	path->methods = &path_methods;

	path->path.rows = candidate->group_count;
	path->path.startup_cost =
		candidate->startup + candidate->run / pfs_parallel_divisor(workers) + target->cost.startup;
	path->path.total_cost = path->path.startup_cost +
							(cpu_tuple_cost + target->cost.per_tuple) * candidate->group_count;
	return path;
}

/*
 * What a partial aggregation returns: the keys, and for each aggregate its transition state, so
 * that PostgreSQL's Finalize Aggregate finds what its own Partial Aggregate would give it.
 */
static PathTarget *
make_partial_target(PlannerInfo *root, const PathTarget *target, List *having)
{
	PathTarget *partial = create_empty_pathtarget();
	List *others = NIL;
	int i = 0;
	ListCell *cell;

	foreach(cell, target->exprs)
	{
		Expr *expression = lfirst(cell);
		Index reference = get_pathtarget_sortgroupref(target, i++);

		if (reference != 0 &&
			get_sortgroupref_clause_noerr(reference, root->parse->groupClause) != NULL)
			add_column_to_pathtarget(partial, expression, reference);
		else
			others = lappend(others, expression);
	}
	others = list_concat(others, having);
	add_new_columns_to_pathtarget(partial,
								  pull_var_clause((Node *) others, PVC_INCLUDE_AGGREGATES));
	foreach(cell, partial->exprs)
	{
		Aggref *aggref = lfirst(cell);

		if (IsA(aggref, Aggref))
		{
			aggref = copyObject(aggref);
			mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
			lfirst(cell) = aggref;
		}
	}
	return set_pathtarget_cost_width(root, partial);
}

static List *
partial_aggrefs(const List *aggrefs)
{
	List *partial = NIL;
	ListCell *cell;

	foreach(cell, aggrefs)
	{
		Aggref *aggref = copyObject(lfirst_node(Aggref, cell));

		mark_partial_aggref(aggref, AGGSPLIT_INITIAL_SERIAL);
		partial = lappend(partial, aggref);
	}
	return partial;
}

static void
add_parallel_path(PlannerInfo *root, RelOptInfo *output, const Candidate *candidate, List *having)
{
	RelOptInfo *partial_rel;
	Candidate partial = *candidate;
	PathTarget *target;
	CustomPath *path;
	Path *gather;
	double row_count;
	AggClauseCosts costs;
	int workers = candidate->input->consider_parallel && output->consider_parallel
					  ? compute_parallel_worker(candidate->input, candidate->pages, -1,
												max_parallel_workers_per_gather)
					  : 0;

	if (workers <= 0)
		return;
	partial_rel = fetch_upper_rel(root, UPPERREL_PARTIAL_GROUP_AGG, output->relids);
	partial_rel->consider_parallel = true;
	target = make_partial_target(root, output->reltarget, having);
	partial.aggregation.aggrefs = partial_aggrefs(partial.aggregation.aggrefs);
	path = make_path(partial_rel, target, &partial, NIL, workers);
	row_count = path->path.rows * pfs_parallel_divisor(workers);
	gather = (Path *) create_gather_path(root, partial_rel, &path->path, target, NULL, &row_count);

	memset(&costs, 0, sizeof(costs));
	if (root->parse->hasAggs)
		get_agg_clause_costs(root, AGGSPLIT_FINAL_DESERIAL, &costs);
	add_path(output,
			 (Path *) create_agg_path(root, output, gather, output->reltarget,
									  candidate->aggregation.keys != NIL ? AGG_HASHED : AGG_PLAIN,
									  AGGSPLIT_FINAL_DESERIAL, root->parse->groupClause, having,
									  &costs, candidate->group_count));
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
				   RelOptInfo *output, void *extra)
{
	const GroupPathExtraData *group = extra;
	Candidate candidate;
	List *having;

	if (previous_hook != NULL)
		previous_hook(root, stage, input, output, extra);
	if (!pfs_enable_agg || stage != UPPERREL_GROUP_AGG)
		return;
	having = (List *) group->havingQual;
	if (!recognise(root, input, output, having, &candidate))
		return;
	add_path(output, &make_path(output, output->reltarget, &candidate, having, 0)->path);
	add_parallel_path(root, output, &candidate, having);
}

static Plan *
plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
		 List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	const PfsAggregation *aggregation = linitial(path->custom_private);
	List *outputs = list_concat_copy(aggregation->keys, aggregation->aggrefs);
	ListCell *cell;

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
pfs_custom_agg_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
}
