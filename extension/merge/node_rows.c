/*
 * node_rows.c
 *		node_rows(): returns the answer of a node to select/shard_rows.c, from its shards.
 *
 * 1. The request and the names of the shards are read. The coordinator calls the function for a row
 *    of shard_keys, so only shards with the key of that row count.
 * 2. One scan reads the shards of samples and tiers under one snapshot.
 * 3. Sums are added up by key, samples and tiers apart, and returned in the order of their keys,
 *    because the differences are shortest then. Rows that are not summed, and scrapes of tiers, are
 *    returned as they come.
 */
#include "profstore.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "base/arrays.h"
#include "base/srf.h"
#include "merge/series_sums.h"
#include "select/sample_scan.h"
#include "select/shard_wire.h"

PG_FUNCTION_INFO_V1(profstore_node_rows);

typedef struct NodeAnswer
{
	PfsResult result;
	PfsShardBlock block; /* rows that have not been returned yet */
} NodeAnswer;

static void
answer_flush(NodeAnswer *answer)
{
	static const bool is_null = false;
	Datum value;

	/* An empty block would be a row that says nothing. */
	if (answer->block.row_count == 0)
		return;
	value = PointerGetDatum(pfs_shard_block_encode(&answer->block));
	pfs_result_put(&answer->result, &value, &is_null);
	pfree(DatumGetPointer(value));
	answer->block.row_count = 0;
}

static void
answer_put(NodeAnswer *answer, PfsShardKind kind, int columns, const int64 *row)
{
	PfsShardBlock *block = &answer->block;

	/* All rows of a block are of one kind, so a change of kind ends it. */
	if (block->kind != kind || block->row_count == PFS_SHARD_BLOCK_ROWS)
		answer_flush(answer);
	block->kind = kind;
	block->columns = columns;
	for (int column = 0; column < PFS_COLUMN_COUNT; column++)
		if (columns & (1 << column))
			block->values[column][block->row_count] = row[column];
	block->row_count++;
}

/* Puts a sum. A sum beyond int8 is divided over several rows. */
static void
answer_put_sum(NodeAnswer *answer, PfsShardKind kind, int columns, int64 *row, int128 sum)
{
	do
	{
		int128 part = Max(Min(sum, PG_INT64_MAX), PG_INT64_MIN);

		row[PFS_COLUMN_VALUE] = (int64) part;
		answer_put(answer, kind, columns, row);
		/* A sum of 0 also makes one row: the row says that the key exists. */
		sum -= part;
		CHECK_FOR_INTERRUPTS();
	} while (sum != 0);
}

/* --- the request --- */

/* Judges stacks: those in the request's list pass. */
static void
node_judge(void *state, const int64 *stacks, uint32 count, bool *passes)
{
	const PfsNumbers *passing = state;

	for (uint32 i = 0; i < count; i++)
		/* Neighbouring rows mostly have one stack, so its answer is used again. */
		passes[i] = i > 0 && stacks[i] == stacks[i - 1] ? passes[i - 1]
														: pfs_numbers_contain(*passing, stacks[i]);
}

/* Makes the selection of a request, which names its series by number; labels are not known here. */
static PfsSelection *
node_selection(const PfsShardRequest *request)
{
	PfsSelection *selection = palloc0(sizeof(PfsSelection));

	/* The coordinator has chosen the series, so type and unit are not needed here. */
	selection->profile_type = selection->unit = "";
	selection->delta = request->delta;
	selection->from = request->from;
	selection->to = request->to;
	selection->series_count = selection->distinct_count = (int) request->series.count;
	selection->series = PFS_ARRAY0(PfsSeries, request->series.count);
	selection->series_ids = PFS_ARRAY(int64, request->series.count);
	for (uint32 i = 0; i < request->series.count; i++)
	{
		selection->series[i].id = selection->series_ids[i] = request->series.numbers[i];
		/*
		 * Each series has an index of its own: only the coordinator knows which series have equal
		 * labels.
		 */
		selection->series[i].index = (int32) i;
	}
	return selection;
}

/* Returns the Oids of the tables whose key is that of the row for which the function is called. */
static List *
node_tables(ArrayType *names, const int32 *keys, int key_count, int32 key)
{
	List *tables = NIL;
	Datum *elements;
	int count;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &count);
	if (count != key_count || array_contains_nulls(names))
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						errmsg("arrays must have equal lengths, without nulls")));
	for (int i = 0; i < count; i++)
	{
		List *name;

		/* The coordinator calls the function once for each key. */
		if (keys[i] != key)
			continue;
		name = textToQualifiedNameList(DatumGetTextPP(elements[i]));
		/* The lock is kept until the transaction ends. */
		tables = lappend_oid(tables, RangeVarGetRelid(makeRangeVarFromNameList(name),
													  AccessShareLock, false));
	}
	return tables;
}

static PfsShardTables
node_shard_tables(FunctionCallInfo fcinfo)
{
	int32 key = PG_GETARG_INT32(0);
	ArrayType *keys = PG_GETARG_ARRAYTYPE_P(2);
	int key_count = ArrayGetNItems(ARR_NDIM(keys), ARR_DIMS(keys));
	const int32 *values = (const int32 *) ARR_DATA_PTR(keys);

	if (array_contains_nulls(keys))
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("keys must not be null")));
	return (PfsShardTables){
		.samples = node_tables(PG_GETARG_ARRAYTYPE_P(3), values, key_count, key),
		.tiers = { node_tables(PG_GETARG_ARRAYTYPE_P(4), values, key_count, key),
				   node_tables(PG_GETARG_ARRAYTYPE_P(5), values, key_count, key) },
	};
}

/* --- the answer --- */

/* Returns the key of a sum: time or stack. */
static const int64 *
block_ids(const PfsSampleBlock *block, int columns)
{
	return columns & PFS_SAMPLE_STACK ? block->stacks : block->times;
}

static void
answer_scrapes(NodeAnswer *answer, const PfsSampleBlock *block)
{
	for (uint32 i = 0; i < block->row_count; i++)
	{
		/* The time of the tier's row and the time of the scrape itself. */
		int64 row[PFS_COLUMN_COUNT] = { block->times[i], block->series[i], 0, block->scrapes[i] };

		answer_put(answer, PFS_SHARD_SCRAPES,
				   PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_VALUE, row);
	}
}

static void
answer_rows(NodeAnswer *answer, const PfsSampleBlock *block, int columns)
{
	const int64 *arrays[PFS_COLUMN_COUNT] = { block->times, block->series, block->stacks,
											  block->values };

	for (uint32 i = 0; i < block->row_count; i++)
	{
		int64 row[PFS_COLUMN_COUNT];

		for (int column = 0; column < PFS_COLUMN_COUNT; column++)
			/* Columns that were not asked for have no array, and are not sent. */
			row[column] = arrays[column] == NULL ? 0 : arrays[column][i];
		answer_put(answer, block->is_tier ? PFS_SHARD_TIER : PFS_SHARD_SAMPLES, columns, row);
	}
}

static void
add_block(PfsSeriesSums *sums, const PfsSampleBlock *block, int columns)
{
	const int64 *ids = block_ids(block, columns);

	for (uint32 i = 0; i < block->row_count; i++)
		pfs_series_sums_add(sums, block->series == NULL ? 0 : (int32) block->series[i],
							ids == NULL ? 0 : ids[i], block->values == NULL ? 0 : block->values[i]);
}

static void
answer_sums(NodeAnswer *answer, PfsSeriesSums *sums, PfsShardKind kind, int columns)
{
	PfsSeriesKey key;
	int128 sum;

	pfs_series_sums_sort(sums);
	while (pfs_series_sums_next(sums, &key, &sum))
	{
		/* The id is the time or the stack, whichever of the two columns was asked for. */
		int64 row[PFS_COLUMN_COUNT] = { key.id, key.series, key.id, 0 };

		answer_put_sum(answer, kind, columns, row, sum);
	}
	pfs_series_sums_end(sums);
}

/*
 * Reads the scan. Scrapes of a tier keep both of their times. If no times are requested, scrapes
 * are added up as values of 0.
 */
static void
answer_scan(NodeAnswer *answer, PfsSampleScan *scan, const PfsShardRequest *request)
{
	bool is_summed = request->part != PFS_PART_ROWS;
	Size bytes = pfs_hash_memory_bytes() / 2;
	PfsSeriesSums *samples = is_summed ? pfs_series_sums_begin(bytes) : NULL;
	PfsSeriesSums *tiers = is_summed ? pfs_series_sums_begin(bytes) : NULL;
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
	{
		CHECK_FOR_INTERRUPTS();
		/* Scrapes of instant types are counted by the coordinator, which needs each one. */
		if (block.is_tier && !request->delta && block.scrapes != NULL && block.series != NULL)
			answer_scrapes(answer, &block);
		else if (is_summed)
			add_block(block.is_tier ? tiers : samples, &block, request->columns);
		else
			answer_rows(answer, &block, request->columns);
	}
	if (!is_summed)
		return;
	answer_sums(answer, samples, PFS_SHARD_SAMPLES, request->columns);
	answer_sums(answer, tiers, PFS_SHARD_TIER, request->columns);
}

/*
 * node_rows(key int4, request bytea, keys int4[], samples text[], minutes text[], hours text[])
 */
PGDLLEXPORT Datum
profstore_node_rows(PG_FUNCTION_ARGS)
{
	NodeAnswer answer = { .result = pfs_result_begin(fcinfo) };
	PfsShardRequest request = pfs_shard_request_decode(PG_GETARG_BYTEA_PP(1));
	PfsShardTables tables = node_shard_tables(fcinfo);
	PfsSelection *selection = node_selection(&request);
	PfsVerdicts verdicts = { 0 };
	PfsSampleScan *scan;

	pfs_shard_block_init(&answer.block);
	if (request.has_stacks)
		verdicts = (PfsVerdicts){ .judge = node_judge, .state = &request.stacks };
	scan =
		pfs_sample_scan_begin_shards(selection, request.columns, request.part, verdicts, &tables);
	/* A request without columns asks how far the tiers reach. */
	if (request.columns == 0)
	{
		int64 row[PFS_COLUMN_COUNT] = { pfs_sample_scan_tier_end(scan, 0), 0, 0,
										pfs_sample_scan_tier_end(scan, 1) };

		answer_put(&answer, PFS_SHARD_ENDS, PFS_SAMPLE_TIME | PFS_SAMPLE_VALUE, row);
	}
	else
		answer_scan(&answer, scan, &request);
	answer_flush(&answer);
	pfs_sample_scan_end(scan);
	return (Datum) 0;
}
