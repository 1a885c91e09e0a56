/*
 * sample_scan.c
 *		Scans partitions of any access method as one.
 *
 * 1. The partitions that overlap the range are listed: of samples, then of each tier.
 * 2. They are opened one after another. Those of access method profstore are read by the block
 *    scan, which skips data that the filters on time and series exclude; others are read by their
 *    own scan, row by row into arrays.
 * 3. In a tier of an instant type, rows with a stack id below 0 are scrapes. They are set aside,
 *    and returned as a block of their own before the next block of sums is read.
 * 4. The block scan asks for verdicts on stacks; if it cannot, this scan does.
 * 5. For a trace or span, the rows of trace_samples are read instead of partitions.
 * 6. If samples are distributed, the answers of the nodes (shard_rows.h) are read instead of
 *    partitions. The nodes test the stacks themselves.
 * 7. Several processes may share a scan: each takes blocks of a partition in turn. A partition of
 *    another access method is read by one of them.
 */
#include "select/sample_scan.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "commands/defrem.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/distributed.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "select/last_scan.h"
#include "select/range_partitions.h"
#include "select/shard_rows.h"
#include "select/tiers.h"
#include "select/trace_rows.h"
#include "store/compact/tier_sums.h"
#include "store/scan/block_scan.h"

#define COLUMN_COUNT   PFS_COLUMN_COUNT
#define ROWS_PER_BLOCK 1024
#define NOT_READ	   (-1)

static const char *const COLUMN_NAMES[COLUMN_COUNT] = { "time", "series_id", "stack_id", "value" };

struct PfsSampleScan
{
	const PfsSelection *selection;
	PfsSegmentPart sums;
	Snapshot snapshot;
	List *partitions;	 /* OIDs of the leaves to read, those of tiers last */
	int tier_partitions; /* number of partitions of tiers among them */
	int next_partition;
	TimestampTz tier_ends[PFS_TIER_COUNT];
	/* number of columns that the caller wants; further columns may be read */
	int asked;
	int positions[COLUMN_COUNT]; /* position of each column among those read, or NOT_READ */
	int column_count;
	PfsVerdicts verdicts; /* judge is NULL if all stacks pass */

	PfsTraceRows *trace_rows; /* read instead of partitions; or NULL */
	PfsShardRows *shard_rows; /* read instead of partitions if samples are distributed; or NULL */
	PfsSharedSamples *shared; /* NULL: this process reads alone */

	/* the open partition */
	Relation relation;
	bool is_tier; /* the open partition belongs to a tier */
	AttrNumber attnums[COLUMN_COUNT];
	PfsBlockScan *block_scan; /* scan of a partition of access method profstore, otherwise NULL */
	TableScanDesc table_scan; /* scan of a partition of another access method, otherwise NULL */
	/* the table scan has ended; a heap scan that is continued after its end would begin again */
	bool table_scan_ended;
	TupleTableSlot *slot;
	int64 *rows
		/* arrays of ROWS_PER_BLOCK values: rows of a table scan, or sums of instant types */
		[COLUMN_COUNT];

	/* separation of sums and scrapes, for instant types */
	bool has_scrapes; /* rows of the open partition include scrapes */
	bool judges;	  /* the scan tests the stack of each row, instead of the store */
	uint32 scrape_count;
	int64 *scrape_buckets; /* ROWS_PER_BLOCK values each */
	int64 *scrape_series;
	int64 *scrape_times;
	int64 *zeros;
};

static void
sample_scan_notice_tiers(const PfsSampleScan *scan)
{
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		if (scan->tier_ends[i] > scan->selection->from)
			pfs_tier_notice(&pfs_tiers[i], scan->tier_ends[i]);
}

static void
add_tier(PfsSampleScan *scan, int tier, List *partitions)
{
	scan->tier_ends[tier] =
		Max(scan->tier_ends[tier], pfs_tier_end(&pfs_tiers[tier], partitions, scan->snapshot));
	scan->tier_partitions += list_length(partitions);
	scan->partitions = list_concat(scan->partitions, partitions);
}

static void
allocate_rows(PfsSampleScan *scan)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->rows[i] == NULL)
			scan->rows[i] = palloc(ROWS_PER_BLOCK * sizeof(int64));
	}
}

/* Allocates the arrays for separating sums and scrapes. */
static void
prepare_scrapes(PfsSampleScan *scan)
{
	allocate_rows(scan);
	scan->scrape_buckets = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->scrape_series = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->scrape_times = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->zeros = palloc0(ROWS_PER_BLOCK * sizeof(int64));
}

static PfsSampleScan *
sample_scan_make(const PfsSelection *selection, int columns, PfsSegmentPart sums,
				 PfsVerdicts verdicts)
{
	PfsSampleScan *scan = palloc0(sizeof(PfsSampleScan));

	scan->selection = selection;
	scan->sums = sums;
	scan->verdicts = verdicts;
	scan->snapshot = GetActiveSnapshot();
	scan->asked = columns;
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		scan->tier_ends[i] = DT_NOBEGIN;
	return scan;
}

/* Chooses the columns to read. Call it when the partitions are known. */
static void
choose_columns(PfsSampleScan *scan)
{
	int columns = scan->asked;

	/* only the stack id distinguishes sums and scrapes */
	if (scan->tier_partitions > 0 && !scan->selection->delta)
	{
		prepare_scrapes(scan);
		columns |= PFS_SAMPLE_STACK;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		scan->positions[i] = (columns & (1 << i)) ? scan->column_count++ : NOT_READ;
}

/*
 * Begins a scan: checks privileges, then lists the partitions and tiers in the range, or for a
 * trace reads its rows instead.
 */
static PfsSampleScan *
sample_scan_begin(const PfsSelection *selection, int columns, PfsSegmentPart sums,
				  PfsVerdicts verdicts)
{
	PfsSampleScan *scan = sample_scan_make(selection, columns, sums, verdicts);
	Oid relid = pfs_relation_find("samples");
	bool is_spread;

	pfs_require_rows_of_series(relid);
	is_spread = pfs_samples_are_spread();
	if (is_spread)
		pfs_require_coordinator();
	else
		pfs_require_local(relid, "read samples of");
	pfs_last_scan_begin();
	if (!pfs_selection_is_empty(selection) && pfs_selection_is_traced(selection))
	{
		allocate_rows(scan);
		scan->judges = verdicts.judge != NULL;
		scan->trace_rows = pfs_trace_rows_begin(selection);
	}
	else if (!pfs_selection_is_empty(selection) && is_spread)
	{
		pfs_find_tier_ends(selection, scan->tier_ends);
		sample_scan_notice_tiers(scan);
		scan->zeros = palloc0(ROWS_PER_BLOCK * sizeof(int64));
		scan->shard_rows = pfs_shard_rows_begin(selection, columns, sums, verdicts);
	}
	else if (!pfs_selection_is_empty(selection))
	{
		scan->partitions = pfs_partitions_collect(NIL, relid, selection->from, selection->to);
		for (int i = 0; i < PFS_TIER_COUNT; i++)
			add_tier(scan, i, pfs_tier_partitions(&pfs_tiers[i], selection));
		sample_scan_notice_tiers(scan);
	}
	choose_columns(scan);
	return scan;
}

PfsSampleScan *
pfs_sample_scan_begin_shards(const PfsSelection *selection, int columns, PfsSegmentPart sums,
							 PfsVerdicts verdicts, const PfsShardTables *tables)
{
	PfsSampleScan *scan = sample_scan_make(selection, columns, sums, verdicts);
	ListCell *cell;

	pfs_last_scan_begin();
	foreach(cell, tables->samples)
	{
		pfs_require_all_rows(lfirst_oid(cell), ACL_SELECT);
		scan->partitions = pfs_partitions_collect(scan->partitions, lfirst_oid(cell),
												  selection->from, selection->to);
	}
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		foreach(cell, tables->tiers[i])
		{
			pfs_require_all_rows(lfirst_oid(cell), ACL_SELECT);
			add_tier(scan, i,
					 pfs_partitions_collect(NIL, lfirst_oid(cell), selection->from, selection->to));
		}
	choose_columns(scan);
	return scan;
}

PfsSampleScan *
pfs_sample_scan_begin(const PfsSelection *selection, int columns)
{
	return pfs_sample_scan_begin_sums(selection, columns, PFS_PART_ROWS);
}

PfsSampleScan *
pfs_sample_scan_begin_sums(const PfsSelection *selection, int columns, PfsSegmentPart sums)
{
	return sample_scan_begin(selection, columns, sums, (PfsVerdicts){ 0 });
}

PfsSampleScan *
pfs_sample_scan_begin_judged(const PfsSelection *selection, int columns, PfsSegmentPart sums,
							 PfsVerdicts verdicts)
{
	return sample_scan_begin(selection, columns, sums, verdicts);
}

Size
pfs_sample_scan_shared_bytes(const PfsSampleScan *scan)
{
	return scan->partitions == NIL ? 0 : pfs_shared_samples_bytes(scan->partitions);
}

void
pfs_sample_scan_share(PfsSampleScan *scan, PfsSharedSamples *shared)
{
	pfs_shared_samples_init(shared, scan->partitions, scan->tier_partitions, scan->tier_ends);
	scan->shared = shared;
}

PfsSampleScan *
pfs_sample_scan_join(const PfsSelection *selection, int columns, PfsSegmentPart sums,
					 PfsVerdicts verdicts, PfsSharedSamples *shared)
{
	PfsSampleScan *scan = sample_scan_make(selection, columns, sums, verdicts);

	scan->shared = shared;
	scan->tier_partitions = shared->tier_partitions;
	memcpy(scan->tier_ends, shared->tier_ends, sizeof(scan->tier_ends));
	for (int i = 0; i < shared->partition_count; i++)
	{
		LockRelationOid(shared->partitions[i].relid, AccessShareLock);
		scan->partitions = lappend_oid(scan->partitions, shared->partitions[i].relid);
	}
	choose_columns(scan);
	return scan;
}

void
pfs_sample_scan_take_counters(PfsSharedSamples *shared)
{
	PfsScanCounters counters = { 0 };

	pfs_shared_counters_take(&shared->counters, &counters);
	pfs_last_scan_add(&counters);
}

/*
 * Adds the counters of the partition to those of last_scan(). Each process lists all segments, so
 * only the leader counts these.
 */
static void
count_read(PfsSampleScan *scan)
{
	PfsScanCounters counters = *pfs_block_scan_counters(scan->block_scan);

	if (!IsParallelWorker())
	{
		pfs_last_scan_add(&counters);
		return;
	}
	counters.segments_skipped = 0;
	pfs_shared_counters_add(&scan->shared->counters, &counters);
}

static PfsSharedScan *
shared_scan_of(PfsSampleScan *scan, int partition)
{
	return scan->shared == NULL ? NULL : pfs_shared_samples_scan(scan->shared, partition);
}

/*
 * Begins the block scan of the open partition, with filters on the range and the series of the
 * selection.
 */
static void
open_block_scan(PfsSampleScan *scan)
{
	const PfsSelection *selection = scan->selection;
	PfsBlockFilter filters[2] = {
		{ scan->attnums[PFS_COLUMN_TIME], Max(selection->from, DT_NOBEGIN + 1), selection->to - 1,
		  NULL, 0 },
		{ scan->attnums[PFS_COLUMN_SERIES], PG_INT64_MIN, PG_INT64_MAX, selection->series_ids,
		  (uint32) selection->series_count },
	};
	AttrNumber attnums[COLUMN_COUNT];
	/*
	 * Sums by time have no stack id, which is needed to tell scrapes from sums, and sums by stack
	 * have no time. So rows are read instead.
	 */
	bool from_rows = scan->has_scrapes && (scan->sums == PFS_PART_SCRAPES ||
										   scan->positions[PFS_COLUMN_TIME] != NOT_READ);

	bool judged = scan->verdicts.judge != NULL && !scan->judges;

	scan->verdicts.attnum = scan->attnums[PFS_COLUMN_STACK];
	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->positions[i] != NOT_READ)
			attnums[scan->positions[i]] = scan->attnums[i];
	}
	scan->block_scan = pfs_block_scan_begin(
		&(PfsScanRequest){ .relation = scan->relation,
						   .snapshot = scan->snapshot,
						   .attribute_count = scan->column_count,
						   .attnums = attnums,
						   .filter_count = lengthof(filters),
						   .filters = filters,
						   .verdicts = judged ? &scan->verdicts : NULL,
						   .sums = from_rows ? PFS_PART_ROWS : scan->sums,
						   .rollup_width = PG_INT64_MAX,
						   .shared = shared_scan_of(scan, scan->next_partition - 1) });
}

static void
open_table_scan(PfsSampleScan *scan)
{
	scan->table_scan = table_beginscan(scan->relation, scan->snapshot, 0, NULL);
	scan->slot = table_slot_create(scan->relation, NULL);
	scan->table_scan_ended = false;
	allocate_rows(scan);
}

/* Opens the partition, unless another process already reads it. */
static void
open_partition(PfsSampleScan *scan, Oid relid)
{
	bool is_columnar;

	/* already locked, by pfs_partitions_collect() or pfs_sample_scan_join() */
	scan->relation = table_open(relid, NoLock);
	if (scan->relation->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition \"%s\" is not a table", RelationGetRelationName(scan->relation)),
				 errhint("Detach it, or query it directly with SQL.")));
	for (int i = 0; i < COLUMN_COUNT; i++)
		scan->attnums[i] = get_attnum(relid, COLUMN_NAMES[i]);
	scan->is_tier = scan->next_partition > list_length(scan->partitions) - scan->tier_partitions;
	scan->has_scrapes = scan->is_tier && !scan->selection->delta;
	is_columnar = scan->relation->rd_rel->relam == get_table_am_oid("profstore", true);
	scan->judges = scan->verdicts.judge != NULL && (!is_columnar || scan->has_scrapes);
	if (is_columnar)
		open_block_scan(scan);
	else if (scan->shared == NULL ||
			 pfs_shared_samples_take(scan->shared, scan->next_partition - 1))
		open_table_scan(scan);
	else
	{
		table_close(scan->relation, NoLock);
		scan->relation = NULL;
	}
}

static void
close_partition(PfsSampleScan *scan)
{
	if (scan->block_scan != NULL)
	{
		count_read(scan);
		pfs_block_scan_end(scan->block_scan);
	}
	if (scan->table_scan != NULL)
	{
		ExecDropSingleTupleTableSlot(scan->slot);
		table_endscan(scan->table_scan);
	}
	scan->block_scan = NULL;
	scan->table_scan = NULL;
	table_close(scan->relation, NoLock);
	scan->relation = NULL;
}

/* Reads the current row; returns false if it is outside the range or the selection. */
static bool
sample_scan_read_row(PfsSampleScan *scan, int64 *values)
{
	Datum datums[COLUMN_COUNT];

	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		bool is_null;

		datums[i] = slot_getattr(scan->slot, scan->attnums[i], &is_null);
		if (is_null)
			return false;
	}
	values[PFS_COLUMN_TIME] = DatumGetTimestampTz(datums[PFS_COLUMN_TIME]);
	values[PFS_COLUMN_SERIES] = DatumGetInt32(datums[PFS_COLUMN_SERIES]);
	values[PFS_COLUMN_STACK] = DatumGetInt64(datums[PFS_COLUMN_STACK]);
	values[PFS_COLUMN_VALUE] = DatumGetInt64(datums[PFS_COLUMN_VALUE]);
	return !TIMESTAMP_IS_NOBEGIN(values[PFS_COLUMN_TIME]) &&
		   values[PFS_COLUMN_TIME] >= scan->selection->from &&
		   values[PFS_COLUMN_TIME] < scan->selection->to &&
		   pfs_selection_series(scan->selection, values[PFS_COLUMN_SERIES]) != NULL;
}

/* Points the columns at the scan's arrays, for those that are read. */
static void
give_rows(PfsSampleScan *scan, const int64 **columns)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		columns[i] = scan->positions[i] == NOT_READ ? NULL : scan->rows[i];
}

/* Fills a block from a table of another access method, row by row. Returns the number of rows. */
static uint32
fill_from_table(PfsSampleScan *scan, const int64 **columns)
{
	uint32 count = 0;
	int64 values[COLUMN_COUNT];

	while (count < ROWS_PER_BLOCK && !scan->table_scan_ended)
	{
		scan->table_scan_ended =
			!table_scan_getnextslot(scan->table_scan, ForwardScanDirection, scan->slot);
		if (scan->table_scan_ended)
			break;
		if (!sample_scan_read_row(scan, values))
			continue;
		for (int i = 0; i < COLUMN_COUNT; i++)
			scan->rows[i][count] = values[i];
		count++;
	}
	give_rows(scan, columns);
	return count;
}

static uint32
fill_from_trace(PfsSampleScan *scan, const int64 **columns)
{
	uint32 count = pfs_trace_rows_next(scan->trace_rows, scan->rows, ROWS_PER_BLOCK);

	give_rows(scan, columns);
	return count;
}

static uint32
fill_from_blocks(PfsSampleScan *scan, const int64 **columns)
{
	PfsBlock block;

	if (!pfs_block_scan_next(scan->block_scan, &block))
		return 0;
	for (int i = 0; i < COLUMN_COUNT; i++)
		columns[i] = scan->positions[i] == NOT_READ ? NULL : block.values[scan->positions[i]];
	return block.row_count;
}

/* Sets scrapes aside and copies sums into the scan's arrays. Returns the number of sums. */
static uint32
split_scrapes(PfsSampleScan *scan, const int64 **columns, uint32 row_count)
{
	uint32 sum_count = 0;

	for (uint32 row = 0; row < row_count; row++)
	{
		if (columns[PFS_COLUMN_STACK][row] < 0)
		{
			uint32 i = scan->scrape_count++;

			scan->scrape_buckets[i] =
				columns[PFS_COLUMN_TIME] == NULL ? 0 : columns[PFS_COLUMN_TIME][row];
			scan->scrape_series[i] =
				columns[PFS_COLUMN_SERIES] == NULL ? 0 : columns[PFS_COLUMN_SERIES][row];
			scan->scrape_times[i] =
				scan->scrape_buckets[i] + pfs_scrape_offset(columns[PFS_COLUMN_STACK][row]);
			continue;
		}
		for (int i = 0; i < COLUMN_COUNT; i++)
			if (columns[i] != NULL)
				scan->rows[i][sum_count] = columns[i][row];
		sum_count++;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (columns[i] != NULL)
			columns[i] = scan->rows[i];
	return sum_count;
}

/* Keeps the rows whose stacks pass; returns their number. */
static uint32
sample_scan_judge_rows(PfsSampleScan *scan, uint32 row_count)
{
	bool passes[ROWS_PER_BLOCK];
	uint32 kept = 0;

	scan->verdicts.judge(scan->verdicts.state, scan->rows[PFS_COLUMN_STACK], row_count, passes);
	for (uint32 row = 0; row < row_count; row++)
	{
		for (int i = 0; i < COLUMN_COUNT; i++)
			scan->rows[i][kept] = scan->rows[i][row];
		kept += passes[row];
	}
	return kept;
}

static void
give_block(const PfsSampleScan *scan, const int64 **columns, const int64 *scrapes,
		   PfsSampleBlock *block)
{
	block->times = scan->asked & PFS_SAMPLE_TIME ? columns[PFS_COLUMN_TIME] : NULL;
	block->series = scan->asked & PFS_SAMPLE_SERIES ? columns[PFS_COLUMN_SERIES] : NULL;
	block->stacks = scan->asked & PFS_SAMPLE_STACK ? columns[PFS_COLUMN_STACK] : NULL;
	block->values = scan->asked & PFS_SAMPLE_VALUE ? columns[PFS_COLUMN_VALUE] : NULL;
	block->scrapes = scan->asked & PFS_SAMPLE_TIME ? scrapes : NULL;
	block->is_tier = scan->is_tier;
}

static void
give_scrapes(PfsSampleScan *scan, PfsSampleBlock *block)
{
	const int64 *columns[COLUMN_COUNT] = { scan->scrape_buckets, scan->scrape_series, scan->zeros,
										   scan->zeros };

	block->row_count = scan->scrape_count;
	scan->scrape_count = 0;
	give_block(scan, columns, scan->scrape_times, block);
}

TimestampTz
pfs_sample_scan_tier_end(const PfsSampleScan *scan, int tier)
{
	return scan->tier_ends[tier];
}

/* Returns the next rows of a trace that pass; false at the end. */
static bool
next_of_trace(PfsSampleScan *scan, const int64 **columns, PfsSampleBlock *block)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		block->row_count = fill_from_trace(scan, columns);
		if (block->row_count == 0)
			return false;
		if (scan->judges)
			block->row_count = sample_scan_judge_rows(scan, block->row_count);
	} while (block->row_count == 0);
	return true;
}

/* Returns the next block of the nodes; false at the end. */
static bool
next_of_shards(PfsSampleScan *scan, PfsSampleBlock *block)
{
	const PfsShardBlock *answer = pfs_shard_rows_next(scan->shard_rows);
	const int64 *columns[COLUMN_COUNT];
	const int64 *scrapes;
	bool has_scrapes;

	if (answer == NULL)
		return false;
	scan->is_tier = answer->kind != PFS_SHARD_SAMPLES;
	has_scrapes = answer->kind == PFS_SHARD_SCRAPES;
	for (int i = 0; i < COLUMN_COUNT; i++)
		columns[i] = answer->values[i];
	scrapes = scan->is_tier && !scan->selection->delta ? NULL : columns[PFS_COLUMN_TIME];
	if (has_scrapes)
	{
		/* a scrape is a sample of value 0 of the empty stack */
		scrapes = columns[PFS_COLUMN_VALUE];
		columns[PFS_COLUMN_STACK] = columns[PFS_COLUMN_VALUE] = scan->zeros;
	}
	block->row_count = answer->row_count;
	give_block(scan, columns, scrapes, block);
	return true;
}

bool
pfs_sample_scan_next(PfsSampleScan *scan, PfsSampleBlock *block)
{
	const int64 *columns[COLUMN_COUNT];

	if (scan->shard_rows != NULL)
		return next_of_shards(scan, block);
	if (scan->trace_rows != NULL)
	{
		if (!next_of_trace(scan, columns, block))
			return false;
		give_block(scan, columns, columns[PFS_COLUMN_TIME], block);
		return true;
	}
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (scan->scrape_count > 0)
		{
			give_scrapes(scan, block);
			return true;
		}
		if (scan->relation == NULL)
		{
			if (scan->next_partition == list_length(scan->partitions))
				return false;
			open_partition(scan, list_nth_oid(scan->partitions, scan->next_partition++));
			if (scan->relation == NULL)
				continue;
		}
		block->row_count =
			scan->block_scan ? fill_from_blocks(scan, columns) : fill_from_table(scan, columns);
		if (block->row_count == 0)
		{
			close_partition(scan);
			continue;
		}
		if (scan->has_scrapes)
			block->row_count = split_scrapes(scan, columns, block->row_count);
		if (scan->judges)
			block->row_count = sample_scan_judge_rows(scan, block->row_count);
		if (block->row_count > 0)
			break;
	}
	give_block(scan, columns, scan->has_scrapes ? NULL : columns[PFS_COLUMN_TIME], block);
	return true;
}

void
pfs_sample_scan_end(PfsSampleScan *scan)
{
	if (scan->relation != NULL)
		close_partition(scan);
	if (scan->trace_rows != NULL)
		pfs_trace_rows_end(scan->trace_rows);
	if (scan->shard_rows != NULL)
		pfs_shard_rows_end(scan->shard_rows);
	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->rows[i] != NULL)
			pfree(scan->rows[i]);
	}
	if (scan->scrape_buckets != NULL)
	{
		pfree(scan->scrape_buckets);
		pfree(scan->scrape_series);
		pfree(scan->scrape_times);
	}
	if (scan->zeros != NULL)
		pfree(scan->zeros);
	list_free(scan->partitions);
	pfree(scan);
}
