/*
 * custom_scan_path.c
 *		Paths of ProfstoreScan, their costs, and its plan.
 */
#include "tableam/nodes/custom_nodes.h"

#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"

#include "tableam/nodes/custom_scan.h"
#include "tableam/nodes/pushdown.h"

/* Cost of passing a row from a block to the executor, without forming a tuple. */
#define ROW_COST (cpu_tuple_cost * 0.5)

static set_rel_pathlist_hook_type previous_hook = NULL;

static Plan *plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list,
					   List *clauses, List *children);

static const CustomPathMethods path_methods = {
	.CustomName = "ProfstoreScan",
	.PlanCustomPath = plan_scan,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "ProfstoreScan",
	.CreateCustomScanState = pfs_custom_scan_create_state,
};

/* Divides RestrictInfos into those that are pushed down and the rest. */
static void
split_clauses(const RelOptInfo *rel, List *clauses, List **pushed, List **rest)
{
	ListCell *cell;

	*pushed = *rest = NIL;
	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst(cell);
		PfsPushedQual qual;

		/* A pseudoconstant clause is a condition of the whole plan; a Result node tests it. */
		if (!clause->pseudoconstant && pfs_pushdown_translate(clause->clause, rel->relid, &qual))
			*pushed = lappend(*pushed, clause);
		else
			*rest = lappend(*rest, clause);
	}
}

/*
 * Makes a path of ProfstoreScan with its costs: reading of the columns, then the clauses that
 * cannot be pushed down, for the rows that the others keep. workers is 0 for a path that is not
 * parallel.
 */
static CustomPath *
make_path(PlannerInfo *root, RelOptInfo *rel, ParamPathInfo *param_info, int workers)
{
	CustomPath *path = makeNode(CustomPath);
	List *clauses = rel->baserestrictinfo;
	List *pushed;
	List *rest;
	QualCost rest_cost;
	PfsReadCost read_cost;
	double pushed_rows;
	double row_count = param_info != NULL ? param_info->ppi_rows : rel->rows;
	Bitmapset *columns;

	/*
	 * Clauses of a parameterised path compare with columns of other relations, which are constant
	 * during a scan.
	 */
	if (param_info != NULL)
		clauses = list_concat_copy(clauses, param_info->ppi_clauses);
	split_clauses(rel, clauses, &pushed, &rest);
	columns = pfs_used_columns(rel->relid, rel->max_attr,
							   list_concat_copy(rel->reltarget->exprs,
												extract_actual_clauses(clauses, false)));
	read_cost = pfs_read_cost(root, rel, pushed, bms_num_members(columns));
	/*
	 * The other clauses are evaluated for the rows that pushed ones keep, of those that are read.
	 */
	pushed_rows = Min(read_cost.row_count,
					  rel->tuples * clauselist_selectivity(root, pushed, 0, JOIN_INNER, NULL));
	cost_qual_eval(&rest_cost, rest, root);

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = param_info;
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	/* The node returns rows in both directions, and computes its target list. */
	path->flags = CUSTOMPATH_SUPPORT_BACKWARD_SCAN | CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;

	path->path.startup_cost = read_cost.startup + rest_cost.startup + rel->reltarget->cost.startup;
	path->path.rows = row_count;
	/* Pushed clauses cost nothing per row: they are evaluated by block. */
	path->path.total_cost = read_cost.run + (ROW_COST + rest_cost.per_tuple) * pushed_rows +
							rel->reltarget->cost.per_tuple * row_count;
	if (workers > 0)
	{
		double divisor = pfs_parallel_divisor(workers);

		/* Each process returns a part of the rows. */
		path->path.rows = clamp_row_est(row_count / divisor);
		path->path.total_cost /= divisor;
	}
	path->path.total_cost += path->path.startup_cost;
	return path;
}

static void
scan_add_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ParamPathInfo *param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	int workers;

	add_path(rel, &make_path(root, rel, param_info, 0)->path);
	/* Workers do not have the parameter of a lateral reference. */
	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	workers = compute_parallel_worker(rel, rel->pages, -1, max_parallel_workers_per_gather);
	if (workers > 0)
		add_partial_path(rel, &make_path(root, rel, NULL, workers)->path);
}

static void
scan_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index index, RangeTblEntry *entry)
{
	if (previous_hook != NULL)
		previous_hook(root, rel, index, entry);
	/* A dummy relation has a path that returns no rows. */
	if (pfs_enable_scan && pfs_is_plain_profstore_rel(rel, entry) && !IS_DUMMY_REL(rel))
		scan_add_paths(root, rel);
}

static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
		  List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	List *rest = NIL;
	List *quals = NIL;
	ListCell *cell;

	clauses = extract_actual_clauses(clauses, false);
	foreach(cell, clauses)
	{
		PfsPushedQual *qual = palloc0(sizeof(PfsPushedQual));

		/* These are the clauses that make_path() has counted as pushed. */
		if (pfs_pushdown_translate(lfirst(cell), rel->relid, qual))
			quals = lappend(quals, qual);
		else
			rest = lappend(rest, lfirst(cell));
	}

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = rest;
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_private = pfs_pushdown_numbers(quals, &scan->custom_exprs);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

void
pfs_custom_scan_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = scan_set_rel_pathlist;
}
