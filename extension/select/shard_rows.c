/*
 * shard_rows.c
 *		Reads the answers of the nodes through a cursor.
 */
#include "select/shard_rows.h"

#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/array.h"

#include "base/arrays.h"
#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "select/sample_columns.h"

#define PARAMETER_COUNT 3

struct PfsShardRows
{
	const PfsSelection *selection;
	int columns; /* columns of the request */
	Portal portal;
	PfsShardBlock block;
};

/*
 * Returns true if the transaction has written to samples, or to a partition. Then each shard must
 * be read by a connection of its own: Citus writes to several shards of a node by several
 * connections, which do not see each other's uncommitted rows.
 */
static bool
shard_rows_are_own(void)
{
	List *tables = list_make1_oid(pfs_relation_oid("samples"));
	ListCell *cell;

	tables = list_concat(tables, find_inheritance_children(linitial_oid(tables), NoLock));
	foreach(cell, tables)
	{
		LOCKTAG tag;

		SET_LOCKTAG_RELATION(tag, MyDatabaseId, lfirst_oid(cell));
		if (pfs_lock_held_by_me(&tag, RowExclusiveLock))
			return true;
	}
	return false;
}

static Datum
series_array(const PfsSelection *selection)
{
	Datum *ids = PFS_ARRAY(Datum, selection->series_count);

	for (int i = 0; i < selection->series_count; i++)
		ids[i] = Int32GetDatum((int32) selection->series_ids[i]);
	return PointerGetDatum(
		construct_array(ids, selection->series_count, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

/* Sends a request to the nodes that have the series, or to all nodes. */
static PfsShardRows *
shard_rows_ask(const PfsSelection *selection, const PfsShardRequest *request, bool all_nodes)
{
	PfsShardRows *rows = palloc(sizeof(PfsShardRows));
	Oid types[PARAMETER_COUNT] = { BYTEAOID, INT4ARRAYOID, BOOLOID };
	Datum values[PARAMETER_COUNT] = { PointerGetDatum(pfs_shard_request_encode(request)),
									  all_nodes ? (Datum) 0 : series_array(selection),
									  BoolGetDatum(!shard_rows_are_own()) };
	const char nulls[PARAMETER_COUNT] = { ' ', all_nodes ? 'n' : ' ', ' ' };
	PfsCaller caller;

	rows->selection = selection;
	rows->columns = request->columns;
	pfs_shard_block_init(&rows->block);
	/*
	 * only the owner may call ask_shards(), which is in the inner schema; while rows are fetched,
	 * the function runs as its own owner
	 */
	caller = pfs_become_owner();
	SPI_connect();
	rows->portal = SPI_cursor_open_with_args(
		NULL, "SELECT a.block FROM profstore_internal.ask_shards($1, $2, $3) AS a (block)",
		PARAMETER_COUNT, types, values, nulls, true, 0);
	SPI_finish();
	pfs_become_caller(caller);
	return rows;
}

static PfsShardRequest
request_make(const PfsSelection *selection, int columns, PfsSegmentPart part)
{
	return (
		PfsShardRequest){ .columns = columns,
						  .part = part,
						  .delta = selection->delta,
						  .from = selection->from,
						  .to = selection->to,
						  .series = { (uint32) selection->series_count, selection->series_ids } };
}

/* --- filters --- */

typedef struct PassingStacks
{
	int64 *ids;
	uint32 count;
	uint32 capacity;
} PassingStacks;

static void
shard_rows_passing_add_block(PassingStacks *passing, const PfsVerdicts *verdicts,
							 const PfsShardBlock *block)
{
	const int64 *stacks = block->values[PFS_COLUMN_STACK];
	bool passes[PFS_SHARD_BLOCK_ROWS];

	verdicts->judge(verdicts->state, stacks, block->row_count, passes);
	PFS_RESERVE(passing->ids, passing->capacity, (uint64) passing->count + block->row_count);
	for (uint32 row = 0; row < block->row_count; row++)
	{
		passing->ids[passing->count] = stacks[row];
		passing->count += passes[row];
	}
}

/* Sorts the ids, and removes duplicates, which come if several nodes have a stack. */
static PfsNumbers
passing_finish(PassingStacks *passing)
{
	uint32 count = 0;

	if (passing->count > 0)
		qsort(passing->ids, passing->count, sizeof(int64), pfs_compare_int64);
	for (uint32 i = 0; i < passing->count; i++)
		if (count == 0 || passing->ids[count - 1] != passing->ids[i])
			passing->ids[count++] = passing->ids[i];
	return (PfsNumbers){ count, passing->ids };
}

/*
 * Restricts a request to those stacks of the selection that pass. The list is sent even if all
 * stacks pass, because further stacks may be stored before the nodes answer the request.
 */
static void
request_judge(PfsShardRequest *request, const PfsSelection *selection, const PfsVerdicts *verdicts)
{
	PfsShardRequest stacks = request_make(selection, PFS_SAMPLE_STACK, PFS_PART_PAIRS);
	PfsShardRows *rows = shard_rows_ask(selection, &stacks, false);
	PassingStacks passing = { 0 };
	const PfsShardBlock *block;

	while ((block = pfs_shard_rows_next(rows)) != NULL)
		shard_rows_passing_add_block(&passing, verdicts, block);
	pfs_shard_rows_end(rows);
	request->has_stacks = true;
	request->stacks = passing_finish(&passing);
}

/* --- rows --- */

PfsShardRows *
pfs_shard_rows_begin(const PfsSelection *selection, int columns, PfsSegmentPart sums,
					 PfsVerdicts verdicts)
{
	PfsShardRequest request = request_make(selection, columns, sums);

	if (verdicts.judge != NULL)
		request_judge(&request, selection, &verdicts);
	return shard_rows_ask(selection, &request, false);
}

/*
 * Returns true if the block is of a kind that the request asks for, and has the requested columns.
 */
static bool
shard_rows_are_asked(const PfsShardRows *rows)
{
	const PfsShardBlock *block = &rows->block;
	const int scrape_keys = PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES;

	switch (block->kind)
	{
		case PFS_SHARD_ENDS:
			return rows->columns == 0 && block->columns == (PFS_SAMPLE_TIME | PFS_SAMPLE_VALUE);
		case PFS_SHARD_SCRAPES:
			return !rows->selection->delta && (rows->columns & scrape_keys) == scrape_keys &&
				   block->columns == (scrape_keys | PFS_SAMPLE_VALUE);
		default:
			return rows->columns != 0 && block->columns == rows->columns;
	}
}

/*
 * Returns true if all rows have series and times of the selection. A column that the block lacks is
 * not tested.
 */
static bool
shard_rows_are_selected(const PfsShardRows *rows)
{
	const PfsShardBlock *block = &rows->block;
	const PfsSelection *selection = rows->selection;
	const int64 *times = block->columns & PFS_SAMPLE_TIME ? block->values[PFS_COLUMN_TIME] : NULL;
	const int64 *series =
		block->columns & PFS_SAMPLE_SERIES ? block->values[PFS_COLUMN_SERIES] : NULL;

	for (uint32 row = 0; row < block->row_count; row++)
	{
		if (times != NULL && (times[row] < selection->from || times[row] >= selection->to))
			return false;
		if (series != NULL && (row == 0 || series[row] != series[row - 1]) &&
			pfs_selection_series(selection, series[row]) == NULL)
			return false;
	}
	return true;
}

/*
 * Checks a block before the caller sees it, because callers read the columns that they asked for,
 * and use series and times as indexes of arrays.
 */
static void
shard_rows_check(const PfsShardRows *rows)
{
	const PfsShardBlock *block = &rows->block;

	if (!shard_rows_are_asked(rows))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("a node's answer has other columns than the requested ones")));
	if (block->kind != PFS_SHARD_ENDS && !shard_rows_are_selected(rows))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("a node's answer has series or times that were not requested")));
}

/* Decodes the next block of the answers; returns false at the end. */
static bool
shard_rows_fetch(PfsShardRows *rows)
{
	bool found;

	SPI_connect();
	SPI_cursor_fetch(rows->portal, true, 1);
	found = SPI_processed > 0;
	if (found)
	{
		bool is_null;
		Datum value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);

		if (is_null)
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a node's answer is null")));
		pfs_shard_block_decode(&rows->block, DatumGetByteaPP(value));
		shard_rows_check(rows);
	}
	SPI_finish();
	return found;
}

const PfsShardBlock *
pfs_shard_rows_next(PfsShardRows *rows)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!shard_rows_fetch(rows))
			return NULL;
	} while (rows->block.row_count == 0);
	return &rows->block;
}

void
pfs_shard_rows_end(PfsShardRows *rows)
{
	SPI_connect();
	SPI_cursor_close(rows->portal);
	SPI_finish();
	for (int column = 0; column < PFS_COLUMN_COUNT; column++)
		pfree(rows->block.values[column]);
	pfree(rows);
}

void
pfs_shard_tier_ends(const PfsSelection *selection, TimestampTz *ends)
{
	PfsShardRequest request = request_make(selection, 0, PFS_PART_ROWS);
	PfsShardRows *rows = shard_rows_ask(selection, &request, true);
	const PfsShardBlock *block;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
		ends[i] = DT_NOBEGIN;
	while ((block = pfs_shard_rows_next(rows)) != NULL)
	{
		ends[0] = Max(ends[0], block->values[PFS_COLUMN_TIME][0]);
		ends[1] = Max(ends[1], block->values[PFS_COLUMN_VALUE][0]);
	}
	pfs_shard_rows_end(rows);
}
