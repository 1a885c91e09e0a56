/*
 * flame_node.c
 *		ProfstoreFlame, which replaces the function scan of flamegraph() and related functions.
 *
 * A function scan forms a tuple from each row, stores the tuples and reads them back, which takes
 * as long as computing the rows. This node calls the same function with a receiver of rows
 * (base/srf.h) that packs them (flame_table.h), and passes them to the executor column by column.
 *
 * 1. The planner uses the node for a function that is alone in FROM, without ordinality, whose
 *    arguments refer to no other relation, and whose rows are not used as whole-row values.
 * 2. The executor evaluates the arguments and calls the function at the first fetch of a row, and
 *    again after a rescan with changed parameters.
 */
#include "views/flame_node.h"

#include "access/sysattr.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "base/custom_rows.h"
#include "base/privileges.h"
#include "base/srf.h"
#include "views/flame_table.h"

/* Estimated cost of passing a row to the executor without forming a tuple. */
#define ROW_COST (cpu_tuple_cost * 0.5)

extern PGDLLEXPORT Datum profstore_flamegraph(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum profstore_flamegraph_of(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum profstore_flamegraph_diff(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum profstore_flamegraph_diff_of(PG_FUNCTION_ARGS);

static set_rel_pathlist_hook_type previous_hook = NULL;

static Plan *plan_flame(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list,
						List *clauses, List *children);
static Node *flame_create_state(CustomScan *plan);

static const CustomPathMethods path_methods = {
	.CustomName = "ProfstoreFlame",
	.PlanCustomPath = plan_flame,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "ProfstoreFlame",
	.CreateCustomScanState = flame_create_state,
};

/* --- the planner --- */

/*
 * Returns the function call if the relation is nothing but a call of one of the node's functions;
 * NULL otherwise.
 */
static FuncExpr *
flame_find_call(const PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *entry)
{
	static const char *const names[] = { "flamegraph", "flamegraph_of", "flamegraph_diff",
										 "flamegraph_diff_of" };
	static const PGFunction functions[] = { profstore_flamegraph, profstore_flamegraph_of,
											profstore_flamegraph_diff,
											profstore_flamegraph_diff_of };
	FuncExpr *call;
	const char *name;

	/*
	 * a query with row locks rechecks rows after it has waited for a lock, and a second call could
	 * return other rows
	 */
	if (root->rowMarks != NIL ||
		(root->parse->commandType != CMD_SELECT && root->parse->commandType != CMD_INSERT))
		return NULL;
	if (entry->rtekind != RTE_FUNCTION || entry->funcordinality ||
		list_length(entry->functions) != 1 || !bms_is_empty(rel->lateral_relids))
		return NULL;
	call = (FuncExpr *) linitial_node(RangeTblFunction, entry->functions)->funcexpr;
	if (!IsA(call, FuncExpr) || (name = get_func_name(call->funcid)) == NULL)
		return NULL;
	for (size_t i = 0; i < lengthof(names); i++)
	{
		FmgrInfo function;

		if (strcmp(name, names[i]) != 0)
			continue;
		fmgr_info(call->funcid, &function);
		return function.fn_addr == functions[i] ? call : NULL;
	}
	return NULL;
}

/* Returns the columns that the query uses, as pull_varattnos() numbers them. */
static Bitmapset *
used_attributes(const RelOptInfo *rel)
{
	Bitmapset *used = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &used);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid,
				   &used);
	return used;
}

static bool
attributes_use(Bitmapset *used, int attnum)
{
	return bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, used);
}

/*
 * Hook of the planner: replaces the function scan of a relation by the node if flame_find_call()
 * allows it and no column is used as a whole row.
 */
static void
flame_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index index, RangeTblEntry *entry)
{
	FuncExpr *call;
	CustomPath *path;
	const Path *replaced;

	if (previous_hook != NULL)
		previous_hook(root, rel, index, entry);
	if (rel->pathlist == NIL || (call = flame_find_call(root, rel, entry)) == NULL ||
		attributes_use(used_attributes(rel), InvalidAttrNumber))
		return;
	replaced = linitial(rel->pathlist);
	if (!IsA(replaced, Path) || replaced->pathtype != T_FunctionScan)
		return;
	path = makeNode(CustomPath);
	path->path = *replaced;
	NodeSetTag(&path->path, T_CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.total_cost =
		replaced->startup_cost +
		(replaced->total_cost - replaced->startup_cost) * ROW_COST / Max(cpu_tuple_cost, ROW_COST);
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(call);
	path->methods = &path_methods;
	/* the node does all that the function scan does, at a lower cost */
	rel->pathlist = list_make1(path);
}

/* Returns target entries of all columns of the function's rows, with the names of the plan. */
static List *
list_columns(Index index, FuncExpr *call)
{
	List *columns = NIL;
	TupleDesc desc;

	if (get_expr_result_type((Node *) call, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		Var *column = makeVar((int) index, (AttrNumber) (i + 1), attribute->atttypid,
							  attribute->atttypmod, attribute->attcollation, 0);

		columns = lappend(columns, makeTargetEntry((Expr *) column, (AttrNumber) (i + 1),
												   pstrdup(NameStr(attribute->attname)), false));
	}
	return columns;
}

static Plan *
plan_flame(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *target_list, List *clauses,
		   List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	FuncExpr *call = linitial_node(FuncExpr, path->custom_private);
	Bitmapset *used = used_attributes(rel);
	bool has_sources = attributes_use(used, 1 + PFS_FLAME_FILE) ||
					   attributes_use(used, 1 + PFS_FLAME_LINE) ||
					   attributes_use(used, 1 + PFS_FLAME_MAPPING);

	scan->scan.plan.targetlist = target_list;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	scan->flags = path->flags;
	scan->custom_scan_tlist = list_columns(rel->relid, call);
	scan->custom_exprs = list_make1(copyObject(call));
	scan->custom_private = list_make1_int(has_sources);
	scan->methods = &scan_methods;
	return &scan->scan.plan;
}

/* --- the executor --- */

typedef struct FlameState
{
	CustomScanState css;
	FuncExpr *call;
	FmgrInfo function;
	List *arguments; /* ExprState */
	bool has_sources;
	MemoryContext context; /* memory of the table */
	PfsFlameTable *table;  /* NULL before the first fetch */
} FlameState;

static void
flame_begin(CustomScanState *node, EState *estate, int flags)
{
	FlameState *state = (FlameState *) node;
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	state->call = linitial_node(FuncExpr, plan->custom_exprs);
	state->has_sources = linitial_int(plan->custom_private) != 0;
	pfs_require_execute(state->call->funcid);
	fmgr_info_cxt(state->call->funcid, &state->function, estate->es_query_cxt);
	fmgr_info_set_expr((Node *) state->call, &state->function);
	state->arguments = ExecInitExprList(state->call->args, &node->ss.ps);
	state->context =
		AllocSetContextCreate(estate->es_query_cxt, "ProfstoreFlame", ALLOCSET_DEFAULT_SIZES);
	memset(slot->tts_isnull, false, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
}

/*
 * Evaluates the arguments. Returns false if the function is strict and an argument is NULL: the
 * result is empty then.
 */
static bool
evaluate_arguments(FlameState *state, FunctionCallInfo fcinfo)
{
	ExprContext *context = state->css.ss.ps.ps_ExprContext;
	bool any_null = false;
	ListCell *cell;
	int i = 0;

	foreach(cell, state->arguments)
	{
		fcinfo->args[i].value = ExecEvalExpr(lfirst(cell), context, &fcinfo->args[i].isnull);
		any_null |= fcinfo->args[i++].isnull;
	}
	return !any_null || !state->function.fn_strict;
}

/*
 * Calls the function in a temporary memory context; the table of rows lives in the node's own
 * context.
 */
static pg_noinline void
fill_table(FlameState *state)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	ExprContext *context = state->css.ss.ps.ps_ExprContext;
	TupleDesc desc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	MemoryContext call_context =
		AllocSetContextCreate(state->context, "ProfstoreFlame call", ALLOCSET_DEFAULT_SIZES);
	PfsTakerInfo taker = { .info = { .type = T_ReturnSetInfo,
									 .econtext = context,
									 .allowedModes = SFRM_Materialize | PFS_SFRM_TAKER,
									 .returnMode = SFRM_Materialize,
									 .isDone = ExprSingleResult } };

	taker.taker = state->table =
		pfs_flame_table_begin(desc->natts == PFS_FLAME_DIFF_COUNT, state->has_sources);
	MemoryContextSwitchTo(call_context);
	InitFunctionCallInfoData(*fcinfo, &state->function, (short) list_length(state->arguments),
							 state->call->inputcollid, NULL, (Node *) &taker);
	if (evaluate_arguments(state, fcinfo))
		FunctionCallInvoke(fcinfo);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(call_context);
	pfs_flame_table_rewind(state->table);
}

static TupleTableSlot *
flame_next_row(CustomScanState *node)
{
	FlameState *state = (FlameState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (state->table == NULL)
		fill_table(state);
	ExecClearTuple(slot);
	if (!pfs_flame_table_next(state->table, slot->tts_values, slot->tts_isnull))
		return slot;
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
flame_execute(CustomScanState *node)
{
	return pfs_custom_next_row(node, flame_next_row);
}

static void
forget_rows(FlameState *state)
{
	if (state->table == NULL)
		return;
	pfs_flame_table_end(state->table);
	MemoryContextReset(state->context);
	state->table = NULL;
}

static void
flame_end(CustomScanState *node)
{
	forget_rows((FlameState *) node);
}

static void
flame_rescan(CustomScanState *node)
{
	FlameState *state = (FlameState *) node;

	ExecScanReScan(&node->ss);
	if (node->ss.ps.chgParam != NULL)
		forget_rows(state);
	else if (state->table != NULL)
		pfs_flame_table_rewind(state->table);
}

/*
 * Shows in EXPLAIN the properties that a function scan shows: the function and, if verbose, the
 * call.
 */
static void
flame_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	const FuncExpr *call = ((FlameState *) node)->call;
	List *context;

	ExplainPropertyText("Function", get_func_name(call->funcid), es);
	if (!es->verbose)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	ExplainPropertyText("Function Call",
						deparse_expression(unconstify(Node *, (const Node *) call), context,
										   list_length(es->rtable) > 1, false),
						es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ProfstoreFlame",
	.BeginCustomScan = flame_begin,
	.ExecCustomScan = flame_execute,
	.EndCustomScan = flame_end,
	.ReScanCustomScan = flame_rescan,
	.ExplainCustomScan = flame_explain,
};

static Node *
flame_create_state(CustomScan *plan)
{
	FlameState *state = palloc0(sizeof(FlameState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

void
pfs_flame_node_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = flame_set_rel_pathlist;
}
