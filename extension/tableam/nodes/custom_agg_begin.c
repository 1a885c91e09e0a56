/*
 * custom_agg_begin.c
 *		Sets up ProfstoreAgg: tables, the columns of their blocks, keys, aggregates.
 */
#include "tableam/nodes/custom_agg.h"

#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "tableam/nodes/agg_sums.h"

/* Returns the number that an attribute's column has in blocks, and adds the column if it is new. */
static int
column_of(BlockAggState *state, AttrNumber attnum, TupleDesc desc)
{
	AttrNumber *number = &state->column_of_attnum[attnum - 1];

	/* 0 means that the attribute has no column yet; numbers are stored + 1. */
	if (*number == 0)
	{
		state->columns[state->column_count] = attnum;
		state->column_kinds[state->column_count] =
			pfs_value_kind(TupleDescAttr(desc, attnum - 1)->atttypid);
		*number = (AttrNumber) ++state->column_count;
	}
	return *number - 1;
}

static void
init_keys(BlockAggState *state, TupleDesc desc)
{
	const PfsAggregation *aggregation = state->aggregation;
	ListCell *cell;
	ListCell *column;

	state->keys = palloc0(sizeof(AggKey) * (Size) Max(list_length(aggregation->keys), 1));
	forboth(cell, aggregation->keys, column, aggregation->key_columns)
	{
		AggKey *key = &state->keys[state->key_count++];
		Expr *expression = lfirst(cell);

		key->column = column_of(state, (AttrNumber) lfirst_int(column), desc);
		if (!pfs_agg_key_is_column(expression))
			key->computed = pfs_computed_key_init(expression, &state->css.ss.ps);
	}
}

/* Sets up the aggregates. Returns the number of words of a record for their states. */
static uint32
init_aggregates(BlockAggState *state, TupleDesc desc)
{
	uint32 words = 0;
	ListCell *cell;

	state->aggregates =
		palloc0(sizeof(AggAggregate) * (Size) Max(list_length(state->aggregation->aggregates), 1));
	foreach(cell, state->aggregation->aggregates)
	{
		AggAggregate *aggregate = &state->aggregates[state->aggregate_count++];
		ListCell *qual;

		aggregate->spec = *(const PfsAggSpec *) lfirst(cell);
		aggregate->column =
			/* count(*) has no argument. */
			aggregate->spec.attnum != 0 ? column_of(state, aggregate->spec.attnum, desc) : -1;
		aggregate->state_word = words;
		words += pfs_agg_state_words(aggregate->spec.kind);
		if (aggregate->spec.filter == NIL)
			continue;
		aggregate->filter = pfs_pushdown_init(aggregate->spec.filter, &state->css.ss.ps);
		/* Columns of the FILTER clause are read, too. */
		foreach(qual, aggregate->spec.filter)
			column_of(state, ((const PfsPushedQual *) lfirst(qual))->attnum, desc);
	}
	return words;
}

/* Decides whether tables of sums may replace rows, and if so adds the column of row counts. */
static void
choose_sums(BlockAggState *state, Relation relation)
{
	state->sums = pfs_agg_sums(state->aggregation, relation);
	if (state->sums == PFS_PART_ROWS)
		return;
	/* The row count is the last column of each block. */
	state->row_count_column = state->column_count;
	state->columns[state->column_count] = PFS_ROW_COUNT_ATTNUM;
	state->column_kinds[state->column_count++] = PFS_VALUE_INT64;
}

/*
 * Maps attributes of the aggregation's table to those of a scanned table, because partitions may
 * order columns differently.
 */
static AttrNumber *
map_columns(Oid table, TupleDesc desc, Oid scanned)
{
	AttrNumber *attnums = palloc0(sizeof(AttrNumber) * (Size) Max(desc->natts, 1));

	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = NameStr(TupleDescAttr(desc, i)->attname);

		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		attnums[i] = table == scanned ? (AttrNumber) (i + 1) : get_attnum(scanned, name);
		if (attnums[i] == InvalidAttrNumber)
			elog(ERROR, "table %u lacks column \"%s\"", scanned, name);
	}
	return attnums;
}

static void
open_tables(BlockAggState *state, TupleDesc desc)
{
	List *scanned = state->aggregation->scanned;
	ListCell *cell;

	state->tables = palloc0(sizeof(AggTable) * (Size) Max(list_length(scanned), 1));
	foreach(cell, scanned)
	{
		AggTable *table = &state->tables[state->table_count++];

		/*
		 * the executor has locked the table, except in a worker, which takes here the lock that its
		 * leader holds
		 */
		table->relation = table_open(lfirst_oid(cell), AccessShareLock);
		table->attnums = map_columns(state->aggregation->table, desc, lfirst_oid(cell));
	}
}

void
pfs_custom_agg_begin(CustomScanState *node, EState *estate, int flags)
{
	BlockAggState *state = (BlockAggState *) node;
	Relation relation;
	TupleDesc desc;
	Size column_slots;

	state->aggregation = pfs_aggregation_of_plan((const CustomScan *) node->ss.ps.plan);
	relation = table_open(state->aggregation->table, AccessShareLock);
	desc = RelationGetDescr(relation);
	/* Each attribute is a column at most once. */
	column_slots = (Size) desc->natts + 1; /* one slot more, for row counts */
	state->columns = palloc(sizeof(AttrNumber) * column_slots);
	state->column_kinds = palloc(sizeof(PfsValueKind) * column_slots);
	state->column_of_attnum = palloc0(sizeof(AttrNumber) * column_slots);
	init_keys(state, desc);
	state->state_words = init_aggregates(state, desc);
	choose_sums(state, relation);
	state->pushdown = pfs_pushdown_init(state->aggregation->quals, &node->ss.ps);
	state->filter_context = CreateExprContext(estate);
	open_tables(state, desc);
	/*
	 * The lock stays until the end of the transaction; open_tables() has opened the table again if
	 * it is scanned.
	 */
	table_close(relation, NoLock);
	state->table_context =
		AllocSetContextCreate(estate->es_query_cxt, "ProfstoreAgg groups", ALLOCSET_DEFAULT_SIZES);
	state->scan_context =
		AllocSetContextCreate(estate->es_query_cxt, "ProfstoreAgg scan", ALLOCSET_DEFAULT_SIZES);
}

void
pfs_custom_agg_end(CustomScanState *node)
{
	BlockAggState *state = (BlockAggState *) node;

	if (state->blocks != NULL)
		pfs_block_scan_end(state->blocks);
	state->blocks = NULL;
	for (int i = 0; i < state->table_count; i++)
		table_close(state->tables[i].relation, NoLock);
	state->table_count = 0;
}
