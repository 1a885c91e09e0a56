/*
 * executor_guard.c
 *		Acts at the start of a statement: rejects statements that a profstore table does not
 *		support, even if they affect no row, and registers running queries with the write buffer.
 */
#include "tableam/access.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "store/write/observers.h"
#include "store/write/write_buffer.h"
#include "tableam/table_am.h"

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorRun_hook_type previous_run = NULL;
static ExecutorEnd_hook_type previous_end = NULL;

/*
 * Raises an error if a relation of the range table is a profstore table. The planner has already
 * opened and locked the relation.
 */
static void
guard_refuse(const List *range_table, Index index, const char *operation, const char *hint)
{
	const RangeTblEntry *entry = rt_fetch(index, range_table);
	Relation relation;
	bool is_ours;

	/* Subqueries and functions have no table. */
	if (entry->rtekind != RTE_RELATION)
		return;
	/* The planner's lock still holds, so the relation cache suffices. */
	relation = RelationIdGetRelation(entry->relid);
	if (!RelationIsValid(relation))
		return;
	is_ours = pfs_is_profstore_table(relation);
	if (is_ours)
		pfs_unsupported(relation, operation, hint);
	RelationClose(relation);
}

static void
check_modify(const PlannedStmt *statement, const Plan *plan)
{
	const ModifyTable *modify = (const ModifyTable *) plan;
	const char *operation = "UPDATE";
	ListCell *cell;

	if (plan == NULL || !IsA(plan, ModifyTable) || modify->operation == CMD_INSERT)
		return;
	if (modify->operation == CMD_DELETE)
		operation = "DELETE";
	else if (modify->operation != CMD_UPDATE)
		operation = "MERGE";
	foreach(cell, modify->resultRelations)
		guard_refuse(statement->rtable, (Index) lfirst_int(cell), operation, PFS_APPEND_ONLY_HINT);
}

/*
 * Checks a statement. A ModifyTable node is at the top of the statement's plan, or of a WITH
 * query's plan.
 */
static void
check_statement(const PlannedStmt *statement)
{
	ListCell *cell;

	/* Only statements that modify have result relations, so others skip the search. */
	if (statement->resultRelations != NIL)
	{
		check_modify(statement, statement->planTree);
		foreach(cell, statement->subplans)
			check_modify(statement, lfirst(cell));
	}
	foreach(cell, statement->rowMarks)
	{
		const PlanRowMark *mark = lfirst(cell);

		/* Weaker marks of joins only fetch rows again, which never happens in these tables. */
		if (RowMarkRequiresRowShareLock(mark->markType))
			guard_refuse(
				statement->rtable, mark->rti, "SELECT FOR UPDATE or SHARE",
				"Rows never change, so plain SELECT is enough; LOCK TABLE keeps writers out.");
	}
}

/*
 * Returns true if each worker would read a profstore table as a whole, as on the inner side of a
 * join, instead of its part of a parallel scan. context is not NULL below a Gather.
 */
static bool
is_read_by_each_worker(PlanState *state, void *context)
{
	if (state == NULL)
		return false;
	/* A node that is not parallel-aware runs completely in each worker. */
	if (context != NULL && !state->plan->parallel_aware)
	{
		if (IsA(state, SeqScanState) &&
			pfs_is_profstore_table(((ScanState *) state)->ss_currentRelation))
			return true;
		if (IsA(state, CustomScanState) &&
			strncmp(((CustomScanState *) state)->methods->CustomName, "Profstore", 9) == 0)
			return true;
	}
	/* Below this node plans run in workers. */
	if (IsA(state, GatherState) || IsA(state, GatherMergeState))
		context = state;
	return planstate_tree_walker(state, is_read_by_each_worker, context);
}

/*
 * Returns true if workers may read waiting rows other than through a parallel scan. A function that
 * is not built in may read any table. The planner lists such functions among the plan's
 * dependencies, and so it lists domains, whose checks may call functions.
 */
static bool
workers_may_look_elsewhere(const QueryDesc *query)
{
	return query->plannedstmt->invalItems != NIL || is_read_by_each_worker(query->planstate, NULL);
}

static void
forbid_workers(QueryDesc *query)
{
	MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
	PlannedStmt *statement = makeNode(PlannedStmt);

	/* The plan may be cached, so the copy is changed. */
	*statement = *query->plannedstmt;
	statement->parallelModeNeeded = false;
	query->plannedstmt = statement;
	MemoryContextSwitchTo(caller);
}

/*
 * Makes waiting rows visible to workers. Workers get the leader's waiting rows only through a
 * parallel scan. If that is not enough, the rows are written before parallel mode begins. Rows of
 * outer subtransactions cannot be written; then the leader runs the plan alone.
 */
static void
keep_waiting_rows_in_sight(QueryDesc *query)
{
	/* Without waiting rows workers see everything. */
	if (!query->plannedstmt->parallelModeNeeded || !pfs_write_buffer_has_rows() ||
		!workers_may_look_elsewhere(query))
		return;
	/* Rows cannot be written in parallel mode. */
	if (!IsInParallelMode())
		pfs_write_buffer_flush_all();
	/* The rows that are left belong to outer subtransactions. */
	if (pfs_write_buffer_has_rows())
		forbid_workers(query);
}

static void
executor_start(QueryDesc *query, int flags)
{
	check_statement(query->plannedstmt);
	/* A query that begins while rows wait may see some of them and not others, see observers.h. */
	if (pfs_write_buffer_has_rows())
		pfs_observers_add(query);
	if (previous_start != NULL)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

/*
 * Makes waiting rows visible to workers again, because another portal may have inserted rows since
 * the start of the query. The query's snapshot does not see them, but snapshots of functions in it
 * do.
 */
static void
guard_executor_run(QueryDesc *query, ScanDirection direction,
				   uint64 count PFS_EXECUTE_ONCE_PARAMETER)
{
	keep_waiting_rows_in_sight(query);
	if (previous_run != NULL)
		previous_run(query, direction, count PFS_EXECUTE_ONCE);
	else
		standard_ExecutorRun(query, direction, count PFS_EXECUTE_ONCE);
}

static void
executor_end(QueryDesc *query)
{
	/* The query may not be registered; then nothing is removed. */
	pfs_observers_remove(query);
	if (previous_end != NULL)
		previous_end(query);
	else
		standard_ExecutorEnd(query);
}

void
pfs_executor_guard_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	previous_run = ExecutorRun_hook;
	ExecutorRun_hook = guard_executor_run;
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
}
