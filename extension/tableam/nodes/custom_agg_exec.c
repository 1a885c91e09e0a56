/*
 * custom_agg_exec.c
 *		Runs ProfstoreAgg: blocks of all tables into groups, groups into rows.
 *
 * Without workers the node reads everything before it returns the first group; if groups exceed
 * memory, it reads again for each pass of the group table. A parallel process cannot read again,
 * because others have taken part of the blocks. When its table is full it returns the groups and
 * goes on with an empty table: the Finalize Aggregate above joins equal groups.
 *
 * 1. The tables are scanned one after the other, in blocks filtered by the query's clauses.
 *    Neighbouring rows of equal keys make runs, which find their groups (group_table.c).
 * 2. Each aggregate sums its column (agg_kernel.c), except the rows that its FILTER excludes.
 * 3. A full table is halved, and the other half left to a later pass.
 * 4. At the end of a pass groups are returned as rows (agg_result.c).
 */
#include "tableam/nodes/custom_agg.h"

#include "executor/executor.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "base/custom_rows.h"
#include "store/scan/block_filter.h"
#include "tableam/nodes/agg_result.h"

/*
 * Begins the block scan of one table, with the pushed filters translated to its attribute numbers.
 */
static void
agg_begin_blocks(BlockAggState *state, AggTable *table)
{
	/* The filters' memory lasts as long as the block scan; agg_end_blocks() resets the context. */
	MemoryContext outer = MemoryContextSwitchTo(state->scan_context);
	Snapshot snapshot = state->css.ss.ps.state->es_snapshot;
	AttrNumber *attnums = palloc(sizeof(AttrNumber) * (Size) Max(state->column_count, 1));
	PfsBlockFilter *filters =
		pfs_pushdown_filters(state->pushdown, state->filter_context, table->attnums);

	/* The column of row counts is no attribute of a table, so it is not translated. */
	for (int i = 0; i < state->column_count; i++)
		attnums[i] = state->columns[i] == PFS_ROW_COUNT_ATTNUM
						 ? PFS_ROW_COUNT_ATTNUM
						 : table->attnums[state->columns[i] - 1];
	/* Pairs have no time, so roll-ups of buckets of any width may replace rows. */
	state->blocks = pfs_block_scan_begin(&(PfsScanRequest){ .relation = table->relation,
															.snapshot = snapshot,
															.attribute_count = state->column_count,
															.attnums = attnums,
															.filter_count = state->pushdown->count,
															.filters = filters,
															.sums = state->sums,
															.rollup_width = PG_INT64_MAX,
															.shared = table->shared });
	MemoryContextSwitchTo(outer);
	pgstat_count_heap_scan(table->relation);
}

static void
agg_end_blocks(BlockAggState *state)
{
	if (state->blocks == NULL)
		return;
	pfs_counters_add(&state->counters, pfs_block_scan_counters(state->blocks));
	/* The scan's counters end with it, so they are added up here. */
	pfs_block_scan_end(state->blocks);
	MemoryContextReset(state->scan_context);
	state->blocks = NULL;
}

/* Returns the next block of any table; false at the end of the last one. */
static bool
next_block(BlockAggState *state, PfsBlock *block)
{
	for (;;)
	{
		AggTable *table;

		/* state->blocks is NULL before the first table, and between two tables. */
		if (state->blocks == NULL)
		{
			if (state->next_table == state->table_count)
				return false;
			agg_begin_blocks(state, &state->tables[state->next_table++]);
		}
		if (pfs_block_scan_next(state->blocks, block))
		{
			table = &state->tables[state->next_table - 1];
			/* adds to the counter of pgstat_count_heap_getnext(), for many rows at once */
			pgstat_count_index_tuples(table->relation, block->row_count);
			return true;
		}
		agg_end_blocks(state);
	}
}

/* Finds the runs of rows with equal group keys in a block; computed keys are evaluated first. */
static void
find_runs(BlockAggState *state, const PfsBlock *block)
{
	const int64 *keys[PFS_AGG_KEYS_MAX];
	const bool *nulls[PFS_AGG_KEYS_MAX];

	for (int i = 0; i < state->key_count; i++)
	{
		const AggKey *key = &state->keys[i];

		/* A computed key is stored in the key itself, so the block stays unchanged. */
		keys[i] = block->values[key->column];
		nulls[i] = block->nulls[key->column];
		if (key->computed != NULL)
		{
			nulls[i] =
				pfs_computed_key_evaluate(key->computed, block->row_count, keys[i], nulls[i]);
			keys[i] = key->computed->values;
		}
	}
	pfs_agg_find_runs(state->groups, block->row_count, keys, nulls, &state->runs);
}

/* Sets the flags of the rows that the aggregate's FILTER excludes. */
static void
exclude_filtered(BlockAggState *state, AggAggregate *aggregate, const PfsBlock *block)
{
	uint16 selection[PFS_BLOCK_ROWS];
	int64 keys[PFS_BLOCK_ROWS];
	uint32 count = block->row_count;

	for (uint32 row = 0; row < count; row++)
		selection[row] = (uint16) row;
	for (int i = 0; i < aggregate->filter->count && count > 0; i++)
	{
		const PfsBlockFilter *filter = &aggregate->filters[i];
		int column = filter->attnum - 1;
		PfsValueKind kind = state->column_kinds[column];
		const int64 *values = block->values[column];

		/*
		 * Floats are stored as bits, whose order is not that of values. Filters compare keys, see
		 * pfs_value_key().
		 */
		if (!pfs_value_is_ordered(kind))
		{
			for (uint32 row = 0; row < block->row_count; row++)
				keys[row] = pfs_value_key(kind, values[row]);
			values = keys;
		}
		count = pfs_filter_select(filter, values, block->nulls[column], selection, count);
	}
	/* The FILTER is an AND of filters, which select rows; all other rows are excluded. */
	memset(aggregate->excluded, true, block->row_count);
	for (uint32 i = 0; i < count; i++)
		aggregate->excluded[selection[i]] = false;
}

/*
 * Updates the states of one aggregate by a block's runs, without the rows that are null or that its
 * FILTER excludes.
 */
static void
update_aggregate(BlockAggState *state, AggAggregate *aggregate, const PfsBlock *block)
{
	PfsAggInput input = { aggregate->spec.kind, state->groups->state_word + aggregate->state_word,
						  NULL, NULL, NULL };

	/* a row of sums counts as many times as it has source rows */
	if (block->has_sums)
		input.weights = block->values[state->row_count_column];
	if (aggregate->column >= 0)
	{
		input.values = block->values[aggregate->column];
		input.excluded = block->nulls[aggregate->column];
	}
	if (aggregate->filter != NULL)
	{
		const bool *nulls = input.excluded;

		exclude_filtered(state, aggregate, block);
		/* A null row is excluded, whatever the FILTER says. */
		for (uint32 row = 0; nulls != NULL && row < block->row_count; row++)
			aggregate->excluded[row] |= nulls[row];
		input.excluded = aggregate->excluded;
	}
	pfs_agg_update(state->groups, &state->runs, &input);
}

static void
begin_groups(BlockAggState *state)
{
	MemoryContext outer = MemoryContextSwitchTo(state->table_context);

	state->groups = pfs_group_table_create((uint32) state->key_count, state->state_words,
										   pfs_hash_memory_bytes());
	/* Filters of a FILTER clause refer to columns of the block, not to attributes of a table. */
	for (int i = 0; i < state->aggregate_count; i++)
	{
		AggAggregate *aggregate = &state->aggregates[i];

		if (aggregate->filter != NULL)
			aggregate->filters = pfs_pushdown_filters(aggregate->filter, state->filter_context,
													  state->column_of_attnum);
	}
	MemoryContextSwitchTo(outer);
	/* Group 0 is no group; the first real one is 1. */
	state->next_table = 0;
	state->next_group = 1;
	state->is_filled = false;
	state->is_whole = true;
}

/* Reads until all rows are in groups, or the table of a partial aggregation is full. */
static void
fill_groups(BlockAggState *state)
{
	PfsBlock block;

	while (next_block(state, &block))
	{
		find_runs(state, &block);
		for (int i = 0; i < state->aggregate_count; i++)
			update_aggregate(state, &state->aggregates[i], &block);
		/*
		 * The limit is tested between blocks: the next block may need a group for each of its rows.
		 */
		if (!pfs_group_table_is_full(state->groups))
			continue;
		/* The caller returns these groups and continues reading with the next block. */
		if (state->aggregation->is_partial)
			return;
		pfs_group_table_halve(state->groups);
	}
	if (state->key_count == 0 && state->groups->count == 0)
	{
		/* without keys there is one group, even if there are no rows */
		uint32 group;

		pfs_group_table_find(state->groups, 1, NULL, NULL, &group);
	}
}

/* Empties the table for the rest of the input; returns false at the end. */
static bool
begin_pass(BlockAggState *state)
{
	/* A parallel process goes on where it stopped: other processes have taken blocks before. */
	if (state->aggregation->is_partial)
	{
		if (state->blocks == NULL)
			return false;
		pfs_group_table_clear(state->groups);
	}
	else
	{
		/* All tables are read again for the groups of the next pass. */
		if (!pfs_group_table_next_pass(state->groups))
			return false;
		state->next_table = 0;
		state->pass_count++;
	}
	/* The table has a part of the groups only, so a rescan cannot return them again. */
	state->is_whole = false;
	return true;
}

/* Makes the next group current; returns false at the end. */
static bool
step_group(BlockAggState *state)
{
	/* Reading begins with the first row that is demanded, not with the start of the node. */
	if (state->groups == NULL)
		begin_groups(state);
	for (;;)
	{
		if (!state->is_filled)
			fill_groups(state);
		state->is_filled = true;
		if (state->next_group <= state->groups->count)
			return true;
		if (!begin_pass(state))
			return false;
		state->is_filled = false;
		state->next_group = 1;
	}
}

/* Returns the next group as a row: its keys, then the aggregates' results or transition states. */
static void
store_group(BlockAggState *state, TupleTableSlot *slot)
{
	const int64 *record = pfs_group_record(state->groups, state->next_group++);
	const int64 *states = record + state->groups->state_word;
	/* Results such as numerics live until the next row. */
	MemoryContext outer =
		MemoryContextSwitchTo(state->css.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);

	for (int i = 0; i < state->key_count; i++)
	{
		/* The word after the keys has a bit for each key that is null. */
		slot->tts_values[i] = pfs_datum_of_value(record[i]);
		slot->tts_isnull[i] = (record[state->key_count] >> i & 1) != 0;
	}
	for (int i = 0; i < state->aggregate_count; i++)
	{
		const AggAggregate *aggregate = &state->aggregates[i];
		int at = state->key_count + i;

		slot->tts_values[at] =
			pfs_agg_result(&aggregate->spec, state->aggregation->is_partial,
						   states + aggregate->state_word, &slot->tts_isnull[at]);
	}
	MemoryContextSwitchTo(outer);
	ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
next_group(CustomScanState *node)
{
	BlockAggState *state = (BlockAggState *) node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	ExecClearTuple(slot);
	if (step_group(state))
		store_group(state, slot);
	return slot;
}

static TupleTableSlot *
agg_execute(CustomScanState *node)
{
	return pfs_custom_next_row(node, next_group);
}

/* Returns true if the table has all groups, and a rescan would return the same groups. */
static bool
can_return_again(const BlockAggState *state)
{
	/* A changed parameter may change the filters. */
	return state->css.ss.ps.chgParam == NULL && state->shared == NULL && state->groups != NULL &&
		   state->is_filled && state->is_whole && state->blocks == NULL &&
		   state->groups->pass.bits == 0;
}

static void
agg_rescan(CustomScanState *node)
{
	BlockAggState *state = (BlockAggState *) node;

	if (can_return_again(state))
	{
		state->next_group = 1;
		return;
	}
	agg_end_blocks(state);
	state->groups = NULL;
	MemoryContextReset(state->table_context);
	ExecScanReScan(&node->ss);
}

static Size
offsets_bytes(const BlockAggState *state)
{
	/* The offsets are followed by the shared scan of each table. */
	return MAXALIGN(
		add_size(offsetof(SharedAgg, scan_offsets), mul_size(sizeof(Size), state->table_count)));
}

static Size
agg_estimate_shared(CustomScanState *node, ParallelContext *parallel)
{
	BlockAggState *state = (BlockAggState *) node;
	Size bytes = offsets_bytes(state);

	for (int i = 0; i < state->table_count; i++)
		bytes = add_size(bytes, MAXALIGN(pfs_shared_scan_bytes(state->tables[i].relation)));
	return bytes;
}

static void
agg_attach_shared(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	BlockAggState *state = (BlockAggState *) node;

	state->shared = coordinate;
	/* Offsets are the same in all processes, pointers are not. */
	for (int i = 0; i < state->table_count; i++)
		state->tables[i].shared =
			(PfsSharedScan *) ((char *) coordinate + state->shared->scan_offsets[i]);
}

static void
agg_initialize_shared(CustomScanState *node, ParallelContext *parallel, void *coordinate)
{
	BlockAggState *state = (BlockAggState *) node;
	SharedAgg *shared = coordinate;
	Size offset = offsets_bytes(state);

	pfs_shared_counters_init(&shared->counters);
	for (int i = 0; i < state->table_count; i++)
	{
		Relation relation = state->tables[i].relation;

		/* Leader and workers take blocks from the same shared scan. */
		shared->scan_offsets[i] = offset;
		pfs_shared_scan_init(relation, (PfsSharedScan *) ((char *) coordinate + offset));
		offset += MAXALIGN(pfs_shared_scan_bytes(relation));
	}
	agg_attach_shared(node, NULL, coordinate);
}

static void
agg_reinitialize_shared(CustomScanState *node, ParallelContext *parallel, void *coordinate)
{
	BlockAggState *state = (BlockAggState *) node;

	for (int i = 0; i < state->table_count; i++)
		pfs_shared_scan_rewind(state->tables[i].shared);
}

/* Adds this process's counters to the shared ones, which the leader shows. */
static void
agg_shut_down(CustomScanState *node)
{
	BlockAggState *state = (BlockAggState *) node;

	if (state->shared == NULL)
		return;
	if (IsParallelWorker())
	{
		/*
		 * The counters are complete when the scan has ended; memset() prevents adding them twice.
		 */
		agg_end_blocks(state);
		pfs_shared_counters_add(&state->shared->counters, &state->counters);
		memset(&state->counters, 0, sizeof(state->counters));
	}
	else
		pfs_shared_counters_take(&state->shared->counters, &state->counters);
}

static void
explain_keys(BlockAggState *state, List *ancestors, ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
	List *keys = NIL;
	ListCell *cell;

	foreach(cell, state->aggregation->keys)
		keys = lappend(keys, deparse_expression(lfirst(cell), context, false, true));
	if (keys != NIL)
		ExplainPropertyList("Group Key", keys, es);
}

static void
agg_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	BlockAggState *state = (BlockAggState *) node;
	List *tables = NIL;

	for (int i = 0; i < state->table_count; i++)
		tables = lappend(tables, RelationGetRelationName(state->tables[i].relation));
	ExplainPropertyList("Tables", tables, es);
	explain_keys(state, ancestors, es);
	/* Filters are shown in the names of the aggregation's table, even if partitions have others. */
	if (state->aggregation->quals != NIL)
		ExplainPropertyText("Block Filter",
							pfs_pushdown_deparse(state->aggregation->quals,
												 state->aggregation->table, &node->ss.ps, ancestors,
												 es),
							es);
	if (!es->analyze)
		return;
	if (state->pass_count > 0)
		ExplainPropertyInteger("Passes", NULL, state->pass_count + 1, es);
	pfs_explain_counters(&state->counters, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ProfstoreAgg",
	.BeginCustomScan = pfs_custom_agg_begin,
	.ExecCustomScan = agg_execute,
	.EndCustomScan = pfs_custom_agg_end,
	.ReScanCustomScan = agg_rescan,
	.EstimateDSMCustomScan = agg_estimate_shared,
	.InitializeDSMCustomScan = agg_initialize_shared,
	.ReInitializeDSMCustomScan = agg_reinitialize_shared,
	.InitializeWorkerCustomScan = agg_attach_shared,
	.ShutdownCustomScan = agg_shut_down,
	.ExplainCustomScan = agg_explain,
};

Node *
pfs_custom_agg_create_state(CustomScan *plan)
{
	BlockAggState *state = palloc0(sizeof(BlockAggState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}
