/*
 * executor_guard.c
 *		At the start of a statement: refuses what a profstore table cannot do, whether or not it
 *		would meet a
 *		row; and tells the write buffer which queries are running.
 */
#include "access/access.h"

#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "access/table_am.h"
#include "store/observers.h"
#include "store/write_buffer.h"

static ExecutorStart_hook_type previous_start = NULL;
static ExecutorEnd_hook_type previous_end = NULL;

/*
 * Raises if a relation of the range table is a profstore table; the planner has opened and locked
 * it.
 */
static void
refuse(const List *range_table, Index index, const char *operation, const char *hint)
{
	const RangeTblEntry *entry = rt_fetch(index, range_table);
	Relation relation;
	bool is_ours;

	if (entry->rtekind != RTE_RELATION)
		return;
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
		refuse(statement->rtable, (Index) lfirst_int(cell), operation, PFS_APPEND_ONLY_HINT);
}

/* A ModifyTable node is the top of the plan, or of a WITH query's. */
static void
check_statement(const PlannedStmt *statement)
{
	ListCell *cell;

	if (statement->resultRelations != NIL)
	{
		check_modify(statement, statement->planTree);
		foreach(cell, statement->subplans)
			check_modify(statement, lfirst(cell));
	}
	foreach(cell, statement->rowMarks)
	{
		const PlanRowMark *mark = lfirst(cell);

		if (RowMarkRequiresRowShareLock(mark->markType))
			refuse(statement->rtable, mark->rti, "SELECT FOR UPDATE or SHARE",
				   "Rows never change, so plain SELECT is enough; LOCK TABLE keeps writers out.");
	}
}

/*
 * Whether a worker would read a table of ours by itself, as on the inner side of a join, and not
 * its part of a parallel scan. context is not NULL below a Gather.
 */
static bool
is_read_by_each_worker(PlanState *state, void *context)
{
	if (state == NULL)
		return false;
	if (context != NULL && !state->plan->parallel_aware)
	{
		if (IsA(state, SeqScanState) &&
			pfs_is_profstore_table(((ScanState *) state)->ss_currentRelation))
			return true;
		if (IsA(state, CustomScanState) &&
			strncmp(((CustomScanState *) state)->methods->CustomName, "Profstore", 9) == 0)
			return true;
	}
	if (IsA(state, GatherState) || IsA(state, GatherMergeState))
		context = state;
	return planstate_tree_walker(state, is_read_by_each_worker, context);
}

/*
 * Workers have the leader's waiting rows only through a parallel scan. Where that is not enough, the
 * leader runs the plan alone.
 */
static void
keep_waiting_rows_in_sight(QueryDesc *query)
{
	PlannedStmt *statement;

	if (!query->plannedstmt->parallelModeNeeded || !pfs_write_buffer_has_rows() ||
		!is_read_by_each_worker(query->planstate, NULL))
		return;
	statement = makeNode(PlannedStmt);
	*statement = *query->plannedstmt;
	statement->parallelModeNeeded = false;
	query->plannedstmt = statement;
}

static void
executor_start(QueryDesc *query, int flags)
{
	check_statement(query->plannedstmt);
	if (pfs_write_buffer_has_rows())
		pfs_observers_add(query);
	if (previous_start != NULL)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
	keep_waiting_rows_in_sight(query);
}

static void
executor_end(QueryDesc *query)
{
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
	previous_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
}
