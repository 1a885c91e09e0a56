/*
 * custom_scan_exec.c
 *		Runs ProfstoreScan: returns rows from filtered blocks, in both directions, alone or in
 *		parallel.
 *
 * The block scan begins with the first row. It begins again after a rescan, because the values of
 * filters may have changed.
 */
#include "tableam/nodes/custom_nodes.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/rel.h"

#include "store/segment/value.h"
#include "tableam/nodes/custom_scan.h"
#include "tableam/nodes/pushdown.h"

/* In shared memory: the counters, then the shared scan. */
#define SHARED_SCAN_OFFSET MAXALIGN(sizeof(PfsSharedCounters))

typedef struct BlockScanState
{
	CustomScanState css;
	List *quals; /* quals that EXPLAIN shows */
	PfsPushdown *pushdown;
	ExprContext *filter_context;
	int column_count;
	AttrNumber *columns;

	PfsSharedCounters *shared_counters; /* NULL: not parallel */
	PfsSharedScan *shared_scan;
	MemoryContext context; /* memory for filters and block scan */
	PfsBlockScan *blocks;  /* NULL until the first row */
	PfsBlock block;
	/* current row of the block; -1 before its first row, row_count after its last */
	int64 row;
	PfsScanCounters counters; /* counters of block scans that have ended */
} BlockScanState;

/*
 * Finds the columns that the scan must return. It is called at execution, because the plan's target
 * list is final only then.
 */
static void
scan_find_columns(BlockScanState *state)
{
	const CustomScan *plan = (const CustomScan *) state->css.ss.ps.plan;
	TupleDesc desc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	/* Clauses that are not pushed down read columns, too. */
	List *expressions = list_concat_copy(plan->scan.plan.targetlist, plan->scan.plan.qual);
	Bitmapset *columns = pfs_used_columns(plan->scan.scanrelid, desc->natts, expressions);
	int column = -1;

	state->columns = palloc(sizeof(AttrNumber) * (Size) Max(bms_num_members(columns), 1));
	while ((column = bms_next_member(columns, column)) >= 0)
		/* A whole-row reference includes dropped columns, which blocks do not have. */
		if (!TupleDescAttr(desc, column - 1)->attisdropped)
			state->columns[state->column_count++] = (AttrNumber) column;
}

static void
scan_node_begin(CustomScanState *node, EState *estate, int flags)
{
	BlockScanState *state = (BlockScanState *) node;
	const CustomScan *plan = (const CustomScan *) node->ss.ps.plan;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	int next_value = 0;

	state->quals = pfs_pushdown_quals(plan->custom_private, plan->custom_exprs, &next_value);
	state->pushdown = pfs_pushdown_init(state->quals, &node->ss.ps);
	scan_find_columns(state);
	/* Columns that are not read stay NULL in the slot. */
	memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot->tts_tupleDescriptor->natts);
	state->context =
		AllocSetContextCreate(estate->es_query_cxt, "ProfstoreScan", ALLOCSET_DEFAULT_SIZES);
	state->filter_context = CreateExprContext(estate);
	state->row = -1;
}

/*
 * Begins the block scan. The function is not inlined into the loop over rows, because it would
 * enlarge that loop's stack frame.
 */
static pg_noinline void
scan_begin_blocks(BlockScanState *state)
{
	Relation relation = state->css.ss.ss_currentRelation;
	EState *estate = state->css.ss.ps.state;
	MemoryContext outer = MemoryContextSwitchTo(state->context);
	PfsBlockFilter *filters = pfs_pushdown_filters(state->pushdown, state->filter_context, NULL);

	state->blocks = pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
															.snapshot = estate->es_snapshot,
															.attribute_count = state->column_count,
															.attnums = state->columns,
															.filter_count = state->pushdown->count,
															.filters = filters,
															.shared = state->shared_scan });
	MemoryContextSwitchTo(outer);
	state->row = -1;
	pgstat_count_heap_scan(relation);
}

static void
scan_end_blocks(BlockScanState *state)
{
	if (state->blocks == NULL)
		return;
	pfs_counters_add(&state->counters, pfs_block_scan_counters(state->blocks));
	pfs_block_scan_end(state->blocks);
	/* The filters and the block scan were allocated in the context. */
	MemoryContextReset(state->context);
	state->blocks = NULL;
	state->block.row_count = 0;
	state->row = -1;
}

/* Moves to the next or previous row; returns false at the end. */
static bool
scan_step_row(BlockScanState *state, bool forward)
{
	/* Only the border of a block needs another block. */
	state->row += forward ? 1 : -1;
	if (state->row >= 0 && state->row < state->block.row_count)
		return true;

	if (forward ? !pfs_block_scan_next(state->blocks, &state->block)
				: !pfs_block_scan_previous(state->blocks, &state->block))
	{
		/* Without rows in the block, the next step in either direction fetches one. */
		state->block.row_count = 0;
		state->row = forward ? 0 : -1;
		return false;
	}
	/* counts all rows of a block at once, as pgstat_count_heap_getnext() would one by one */
	pgstat_count_index_tuples(state->css.ss.ss_currentRelation, state->block.row_count);
	state->row = forward ? 0 : (int64) state->block.row_count - 1;
	return true;
}

/*
 * Returns the next row, or the previous one in a backward scan, as a virtual tuple; an empty slot
 * at the end.
 */
static TupleTableSlot *
scan_next_row(ScanState *node)
{
	BlockScanState *state = (BlockScanState *) node;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	const PfsBlock *block = &state->block;
	EState *estate = state->css.ss.ps.state;

	ExecClearTuple(slot);
	if (state->blocks == NULL)
		scan_begin_blocks(state);
	if (!scan_step_row(state, !ScanDirectionIsBackward(estate->es_direction)))
		return slot;

	/* block->values are indexed by the scan's columns, the slot by attribute. */
	for (int i = 0; i < state->column_count; i++)
	{
		int attribute = state->columns[i] - 1;

		slot->tts_values[attribute] = pfs_datum_of_value(block->values[i][state->row]);
		slot->tts_isnull[attribute] = block->nulls[i] != NULL && block->nulls[i][state->row];
	}
	slot->tts_tableOid = RelationGetRelid(state->css.ss.ss_currentRelation);
	/* the row's position serves as its ctid */
	slot->tts_tid.ip_blkid.bi_hi = (uint16) (block->number >> 16);
	slot->tts_tid.ip_blkid.bi_lo = (uint16) block->number;
	slot->tts_tid.ip_posid = (OffsetNumber) (state->row + 1);
	return ExecStoreVirtualTuple(slot);
}

/* Never called, because rows cannot be fetched again and so need no recheck. */
static bool
recheck_row(ScanState *node, TupleTableSlot *slot)
{
	return true;
}

static TupleTableSlot *
scan_execute(CustomScanState *node)
{
	return ExecScan(&node->ss, scan_next_row, recheck_row);
}

static void
scan_rescan(CustomScanState *node)
{
	scan_end_blocks((BlockScanState *) node);
	ExecScanReScan(&node->ss);
}

/* Adds this process's counters to the shared ones, which the leader shows. */
static void
scan_shut_down(CustomScanState *node)
{
	BlockScanState *state = (BlockScanState *) node;

	if (state->shared_counters == NULL)
		return;
	/* A worker ends its scan here, because its counters are complete only then. */
	if (IsParallelWorker())
	{
		scan_end_blocks(state);
		pfs_shared_counters_add(state->shared_counters, &state->counters);
		memset(&state->counters, 0, sizeof(state->counters));
	}
	else
		pfs_shared_counters_take(state->shared_counters, &state->counters);
}

static void
scan_end(CustomScanState *node)
{
	scan_end_blocks((BlockScanState *) node);
}

static Size
scan_estimate_shared(CustomScanState *node, ParallelContext *parallel)
{
	return add_size(SHARED_SCAN_OFFSET, pfs_shared_scan_bytes(node->ss.ss_currentRelation));
}

static void
scan_attach_shared(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	BlockScanState *state = (BlockScanState *) node;

	state->shared_counters = coordinate;
	state->shared_scan = (PfsSharedScan *) ((char *) coordinate + SHARED_SCAN_OFFSET);
}

static void
scan_initialize_shared(CustomScanState *node, ParallelContext *parallel, void *coordinate)
{
	scan_attach_shared(node, NULL, coordinate);
	pfs_shared_counters_init(((BlockScanState *) node)->shared_counters);
	pfs_shared_scan_init(node->ss.ss_currentRelation, ((BlockScanState *) node)->shared_scan);
}

static void
scan_reinitialize_shared(CustomScanState *node, ParallelContext *parallel, void *coordinate)
{
	/* Counters are not reset: EXPLAIN shows the sums over all rescans. */
	pfs_shared_scan_rewind(((BlockScanState *) node)->shared_scan);
}

static void
scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	BlockScanState *state = (BlockScanState *) node;
	/* Counters of a scan that still runs are added to those that have ended. */
	PfsScanCounters counters = state->counters;

	if (state->quals != NIL)
		ExplainPropertyText("Block Filter",
							pfs_pushdown_deparse(state->quals,
												 RelationGetRelid(node->ss.ss_currentRelation),
												 &node->ss.ps, ancestors, es),
							es);
	if (!es->analyze)
		return;
	if (state->blocks != NULL)
		pfs_counters_add(&counters, pfs_block_scan_counters(state->blocks));
	pfs_explain_counters(&counters, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ProfstoreScan",
	.BeginCustomScan = scan_node_begin,
	.ExecCustomScan = scan_execute,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.EstimateDSMCustomScan = scan_estimate_shared,
	.InitializeDSMCustomScan = scan_initialize_shared,
	.ReInitializeDSMCustomScan = scan_reinitialize_shared,
	.InitializeWorkerCustomScan = scan_attach_shared,
	.ShutdownCustomScan = scan_shut_down,
	.ExplainCustomScan = scan_explain,
};

Node *
pfs_custom_scan_create_state(CustomScan *plan)
{
	BlockScanState *state = palloc0(sizeof(BlockScanState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}
