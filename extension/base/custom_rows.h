/*
 * custom_rows.h
 *		How a custom node that scans no table returns rows: filtered and projected as by ExecScan.
 *
 * ExecScan itself takes such a scan, before PostgreSQL 15.14, for a join that is to be checked
 * again, where a subquery runs anew for a row that an UPDATE has found changed (EvalPlanQual): it
 * would return none.
 */
#ifndef PFS_CUSTOM_ROWS_H
#define PFS_CUSTOM_ROWS_H

#include "profstore.h"

#include "executor/executor.h"
#include "miscadmin.h"

/* The next row, of those that next() brings to the node's scan slot; it returns that slot. */
static inline TupleTableSlot *
pfs_custom_next_row(CustomScanState *node, TupleTableSlot *(*next)(CustomScanState *node))
{
	ExprContext *context = node->ss.ps.ps_ExprContext;
	ExprState *qual = node->ss.ps.qual;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	for (;;)
	{
		TupleTableSlot *slot;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(context);
		slot = next(node);
		if (TupIsNull(slot))
			return projection != NULL ? ExecClearTuple(projection->pi_state.resultslot) : slot;
		context->ecxt_scantuple = slot;
		if (ExecQual(qual, context))
			return projection != NULL ? ExecProject(projection) : slot;
		InstrCountFiltered1(node, 1);
	}
}

#endif
