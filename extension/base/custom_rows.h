/*
 * custom_rows.h
 *		Returns rows of a custom node that scans no table, filtered and projected as by
 *		ExecScan().
 *
 * Before PostgreSQL 15.14, ExecScan() treats such a node as a join to be rechecked if a subquery is
 * run again for a row that an UPDATE has found changed (EvalPlanQual): it would return no row.
 */
#ifndef PFS_CUSTOM_ROWS_H
#define PFS_CUSTOM_ROWS_H

#include "profstore.h"

#include "executor/executor.h"
#include "miscadmin.h"

/* Returns the next row. next() stores rows in the node's scan slot and returns it. */
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
