/*
 * sample_scan.c
 *		Privileges, partition pruning, and one scan over partitions of any access method.
 */
#include "select/sample_scan.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/privileges.h"
#include "base/relations.h"
#include "commands/defrem.h"
#include "executor/tuptable.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "select/estimate.h"
#include "select/tiers.h"
#include "store/compact/tier_sums.h"
#include "store/scan/block_scan.h"
#include "store/segment/directory.h"
#include "store/segment/storage.h"
#include "store/segment/summary.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define COLUMN_COUNT   4
#define ROWS_PER_BLOCK 1024
#define NOT_READ	   (-1)

/* The columns in the order of their bits in PfsSampleColumns. */
enum
{
	TIME,
	SERIES,
	STACK,
	VALUE
};

static const char *const COLUMN_NAMES[COLUMN_COUNT] = { "time", "series_id", "stack_id", "value" };

struct PfsSampleScan
{
	const PfsSelection *selection;
	PfsSegmentPart sums;
	Snapshot snapshot;
	List *partitions;	 /* Oids of the leaves to read, those of the tiers last */
	int tier_partitions; /* so many are of tiers */
	int next_partition;
	TimestampTz tier_ends[PFS_TIER_COUNT];
	int asked;					 /* columns that the caller wants, of those that are read */
	int positions[COLUMN_COUNT]; /* of a column among those asked for, or NOT_READ */
	int column_count;

	/* the open partition */
	Relation relation;
	bool is_tier; /* it is of one */
	AttrNumber attnums[COLUMN_COUNT];
	PfsBlockScan *block_scan; /* access method profstore, … */
	TableScanDesc table_scan; /* … or any other */
	bool table_scan_ended;	  /* asked for more, a heap scan would begin again */
	TupleTableSlot *slot;
	int64 *rows
		[COLUMN_COUNT]; /* ROWS_PER_BLOCK lanes, for the table scan and for sums of instant types */

	/* sums of instant types: the scrapes beside them */
	bool has_scrapes; /* the open partition's rows are such */
	uint32 scrape_count;
	int64 *scrape_buckets; /* ROWS_PER_BLOCK lanes each */
	int64 *scrape_series;
	int64 *scrape_times;
	int64 *zeros;
};

PG_FUNCTION_INFO_V1(profstore_last_scan);

static bool
range_is_empty(const PfsSelection *selection)
{
	return selection->series_count == 0 || selection->from >= selection->to;
}

/*
 * Whether the partition between two bounds of the time column can hold rows of the range.
 */
static bool
bounds_meet_range(PartitionBoundInfo bounds, int lower, const PfsSelection *selection)
{
	int upper = lower + 1;

	if (lower >= 0)
	{
		PartitionRangeDatumKind kind = bounds->kind[lower][0];

		if (kind == PARTITION_RANGE_DATUM_MAXVALUE ||
			(kind == PARTITION_RANGE_DATUM_VALUE &&
			 DatumGetInt64(bounds->datums[lower][0]) >= selection->to))
			return false;
	}
	if (upper < bounds->ndatums)
	{
		PartitionRangeDatumKind kind = bounds->kind[upper][0];

		if (kind == PARTITION_RANGE_DATUM_MINVALUE ||
			(kind == PARTITION_RANGE_DATUM_VALUE &&
			 DatumGetInt64(bounds->datums[upper][0]) <= selection->from))
			return false;
	}
	return true;
}

static bool
is_partitioned_by_time(Relation relation)
{
	PartitionKey key = RelationGetPartitionKey(relation);

	return key->strategy == PARTITION_STRATEGY_RANGE && key->partnatts == 1 &&
		   key->partattrs[0] == get_attnum(RelationGetRelid(relation), COLUMN_NAMES[TIME]);
}

/*
 * Appends the leaves below a table that can hold rows of the range; the table itself where it is no parent.
 */
static List *
collect_partitions(List *leaves, Oid relid, const PfsSelection *selection)
{
	Relation relation = table_open(relid, AccessShareLock);
	PartitionDesc partitions;

	if (relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		leaves = lappend_oid(leaves, relid);
		table_close(relation, NoLock);
		return leaves;
	}
	partitions = RelationGetPartitionDesc(relation, true);
	if (partitions->nparts > 0 && is_partitioned_by_time(relation))
	{
		PartitionBoundInfo bounds = partitions->boundinfo;

		/* indexes[i] is the partition that ends at bound i; the last one has no upper bound */
		for (int i = 0; i <= bounds->ndatums; i++)
		{
			int part = bounds->indexes[i];

			if (part >= 0 && bounds_meet_range(bounds, i - 1, selection))
				leaves = collect_partitions(leaves, partitions->oids[part], selection);
		}
		if (partition_bound_has_default(bounds))
			leaves = collect_partitions(leaves, partitions->oids[bounds->default_index], selection);
	}
	else
	{
		for (int i = 0; i < partitions->nparts; i++)
			leaves = collect_partitions(leaves, partitions->oids[i], selection);
	}
	table_close(relation, NoLock);
	return leaves;
}

/* The partitions of a tier that the range meets, which the caller may read. */
static List *
collect_tier(const PfsTier *tier, const PfsSelection *selection)
{
	Oid relid = pfs_relation_find(tier->table);
	List *partitions;

	if (!OidIsValid(relid))
		return NIL;
	partitions = collect_partitions(NIL, relid, selection);
	if (partitions != NIL)
		pfs_require_all_rows(relid, ACL_SELECT);
	return partitions;
}

/* The ends of what the tiers hold in the partitions that the range meets, or DT_NOBEGIN. */
static void
find_tier_ends(const PfsSelection *selection, TimestampTz *ends)
{
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		ends[i] = range_is_empty(selection)
					  ? DT_NOBEGIN
					  : pfs_tier_end(&pfs_tiers[i], collect_tier(&pfs_tiers[i], selection),
									 GetActiveSnapshot());
}

int64
pfs_sample_resolution(const PfsSelection *selection)
{
	TimestampTz ends[PFS_TIER_COUNT];

	find_tier_ends(selection, ends);
	for (int i = PFS_TIER_COUNT - 1; i >= 0; i--)
		if (ends[i] > selection->from)
			return pfs_tiers[i].width_us;
	return 0;
}

int64
pfs_sample_covered_us(const PfsSelection *selection)
{
	TimestampTz ends[PFS_TIER_COUNT];
	int64 covered_us;

	find_tier_ends(selection, ends);
	covered_us = pfs_tier_round_up(ends, selection->to) - pfs_tier_round_up(ends, selection->from);
	/* between two beginnings there is nothing, which is no rate of nothing */
	return covered_us > 0 ? covered_us : selection->to - selection->from;
}

static void
add_tiers(PfsSampleScan *scan)
{
	const PfsSelection *selection = scan->selection;

	for (int i = 0; i < PFS_TIER_COUNT; i++)
	{
		List *partitions = collect_tier(&pfs_tiers[i], selection);
		TimestampTz end = pfs_tier_end(&pfs_tiers[i], partitions, scan->snapshot);

		if (end > selection->from)
			pfs_tier_notice(&pfs_tiers[i], end);
		scan->tier_ends[i] = end;
		scan->tier_partitions += list_length(partitions);
		scan->partitions = list_concat(scan->partitions, partitions);
	}
}

/* What it takes to tell sums and scrapes apart. */
static void
prepare_scrapes(PfsSampleScan *scan)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		scan->rows[i] = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->scrape_buckets = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->scrape_series = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->scrape_times = palloc(ROWS_PER_BLOCK * sizeof(int64));
	scan->zeros = palloc0(ROWS_PER_BLOCK * sizeof(int64));
}

/*
 * What the last statement that scanned samples has read. A statement may scan several times.
 */
static PfsScanCounters last_counters;
static TimestampTz last_statement;

static void
add_counters(const PfsScanCounters *counters)
{
	last_counters.segments_total += counters->segments_total;
	last_counters.segments_skipped += counters->segments_skipped;
	last_counters.segments_summed += counters->segments_summed;
	last_counters.segments_read += counters->segments_read;
	last_counters.blocks_read += counters->blocks_read;
	last_counters.blocks_skipped += counters->blocks_skipped;
	last_counters.bytes_read += counters->bytes_read;
}

/*
 * last_scan()
 */
PGDLLEXPORT Datum
profstore_last_scan(PG_FUNCTION_ARGS)
{
	const uint64 counters[] = { last_counters.segments_total,  last_counters.segments_skipped,
								last_counters.segments_summed, last_counters.segments_read,
								last_counters.blocks_read,	   last_counters.blocks_skipped,
								last_counters.bytes_read };
	Datum values[lengthof(counters)];
	bool nulls[lengthof(counters)] = { false };
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (size_t i = 0; i < lengthof(counters); i++)
		values[i] = Int64GetDatum((int64) counters[i]);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

PfsSampleScan *
pfs_sample_scan_begin(const PfsSelection *selection, int columns)
{
	return pfs_sample_scan_begin_sums(selection, columns, PFS_PART_ROWS);
}

PfsSampleScan *
pfs_sample_scan_begin_sums(const PfsSelection *selection, int columns, PfsSegmentPart sums)
{
	PfsSampleScan *scan = palloc0(sizeof(PfsSampleScan));
	Oid relid = pfs_relation_find("samples");

	pfs_require_all_rows(relid, ACL_SELECT);
	if (last_statement != GetCurrentStatementStartTimestamp())
		memset(&last_counters, 0, sizeof(last_counters));
	last_statement = GetCurrentStatementStartTimestamp();
	scan->selection = selection;
	scan->sums = sums;
	scan->snapshot = GetActiveSnapshot();
	scan->asked = columns;
	for (int i = 0; i < PFS_TIER_COUNT; i++)
		scan->tier_ends[i] = DT_NOBEGIN;
	if (!range_is_empty(selection))
	{
		scan->partitions = collect_partitions(NIL, relid, selection);
		add_tiers(scan);
	}
	/* it is the stack that tells sums and scrapes apart */
	if (scan->tier_partitions > 0 && !selection->delta)
	{
		prepare_scrapes(scan);
		columns |= PFS_SAMPLE_STACK;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		scan->positions[i] = (columns & (1 << i)) ? scan->column_count++ : NOT_READ;
	return scan;
}

static void
open_block_scan(PfsSampleScan *scan)
{
	const PfsSelection *selection = scan->selection;
	PfsBlockFilter filters[2] = {
		{ scan->attnums[TIME], Max(selection->from, DT_NOBEGIN + 1), selection->to - 1, NULL, 0 },
		{ scan->attnums[SERIES], PG_INT64_MIN, PG_INT64_MAX, selection->series_ids,
		  (uint32) selection->series_count },
	};
	AttrNumber attnums[COLUMN_COUNT];
	/* sums by time know no stack, by which to tell sums and scrapes apart; those by stack know no time */
	bool from_rows =
		scan->has_scrapes && (scan->sums == PFS_PART_SCRAPES || scan->positions[TIME] != NOT_READ);

	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->positions[i] != NOT_READ)
			attnums[scan->positions[i]] = scan->attnums[i];
	}
	scan->block_scan = pfs_block_scan_begin_sums(scan->relation, scan->snapshot, scan->column_count,
												 attnums, lengthof(filters), filters,
												 from_rows ? PFS_PART_ROWS : scan->sums);
}

static void
open_table_scan(PfsSampleScan *scan)
{
	scan->table_scan = table_beginscan(scan->relation, scan->snapshot, 0, NULL);
	scan->slot = table_slot_create(scan->relation, NULL);
	scan->table_scan_ended = false;
	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->rows[i] == NULL)
			scan->rows[i] = palloc(ROWS_PER_BLOCK * sizeof(int64));
	}
}

static void
open_partition(PfsSampleScan *scan, Oid relid)
{
	/* locked by collect_partitions */
	scan->relation = table_open(relid, NoLock);
	if (scan->relation->rd_rel->relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition \"%s\" is not a table", RelationGetRelationName(scan->relation)),
				 errhint("Detach it, or query it in SQL of your own.")));
	for (int i = 0; i < COLUMN_COUNT; i++)
		scan->attnums[i] = get_attnum(relid, COLUMN_NAMES[i]);
	scan->is_tier = scan->next_partition > list_length(scan->partitions) - scan->tier_partitions;
	scan->has_scrapes = scan->is_tier && !scan->selection->delta;
	if (scan->relation->rd_rel->relam == get_table_am_oid("profstore", true))
		open_block_scan(scan);
	else
		open_table_scan(scan);
}

static void
close_partition(PfsSampleScan *scan)
{
	if (scan->block_scan != NULL)
	{
		add_counters(pfs_block_scan_counters(scan->block_scan));
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

/*
 * The current row as lanes; false where the range or the selection leaves it out.
 */
static bool
read_row(PfsSampleScan *scan, int64 *lanes)
{
	Datum datums[COLUMN_COUNT];

	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		bool is_null;

		datums[i] = slot_getattr(scan->slot, scan->attnums[i], &is_null);
		if (is_null)
			return false;
	}
	lanes[TIME] = DatumGetTimestampTz(datums[TIME]);
	lanes[SERIES] = DatumGetInt32(datums[SERIES]);
	lanes[STACK] = DatumGetInt64(datums[STACK]);
	lanes[VALUE] = DatumGetInt64(datums[VALUE]);
	return !TIMESTAMP_IS_NOBEGIN(lanes[TIME]) && lanes[TIME] >= scan->selection->from &&
		   lanes[TIME] < scan->selection->to &&
		   pfs_selection_series(scan->selection, lanes[SERIES]) != NULL;
}

static uint32
fill_from_table(PfsSampleScan *scan, const int64 **columns)
{
	uint32 count = 0;
	int64 lanes[COLUMN_COUNT];

	while (count < ROWS_PER_BLOCK && !scan->table_scan_ended)
	{
		scan->table_scan_ended =
			!table_scan_getnextslot(scan->table_scan, ForwardScanDirection, scan->slot);
		if (scan->table_scan_ended)
			break;
		if (!read_row(scan, lanes))
			continue;
		for (int i = 0; i < COLUMN_COUNT; i++)
			scan->rows[i][count] = lanes[i];
		count++;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		columns[i] = scan->positions[i] == NOT_READ ? NULL : scan->rows[i];
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

/*
 * Puts scrapes aside and leaves the sums, in arrays of the scan. Returns how many sums there are.
 */
static uint32
split_scrapes(PfsSampleScan *scan, const int64 **columns, uint32 row_count)
{
	uint32 sum_count = 0;

	for (uint32 row = 0; row < row_count; row++)
	{
		if (columns[STACK][row] < 0)
		{
			uint32 i = scan->scrape_count++;

			scan->scrape_buckets[i] = columns[TIME] == NULL ? 0 : columns[TIME][row];
			scan->scrape_series[i] = columns[SERIES] == NULL ? 0 : columns[SERIES][row];
			scan->scrape_times[i] =
				scan->scrape_buckets[i] + pfs_scrape_offset(columns[STACK][row]);
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

static void
give_block(const PfsSampleScan *scan, const int64 **columns, const int64 *scrapes,
		   PfsSampleBlock *block)
{
	block->times = scan->asked & PFS_SAMPLE_TIME ? columns[TIME] : NULL;
	block->series = scan->asked & PFS_SAMPLE_SERIES ? columns[SERIES] : NULL;
	block->stacks = scan->asked & PFS_SAMPLE_STACK ? columns[STACK] : NULL;
	block->values = scan->asked & PFS_SAMPLE_VALUE ? columns[VALUE] : NULL;
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

bool
pfs_sample_scan_next(PfsSampleScan *scan, PfsSampleBlock *block)
{
	const int64 *columns[COLUMN_COUNT];

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
		if (block->row_count > 0)
			break;
	}
	give_block(scan, columns, scan->has_scrapes ? NULL : columns[TIME], block);
	return true;
}

void
pfs_sample_scan_end(PfsSampleScan *scan)
{
	if (scan->relation != NULL)
		close_partition(scan);
	for (int i = 0; i < COLUMN_COUNT; i++)
	{
		if (scan->rows[i] != NULL)
			pfree(scan->rows[i]);
	}
	if (scan->zeros != NULL)
	{
		pfree(scan->scrape_buckets);
		pfree(scan->scrape_series);
		pfree(scan->scrape_times);
		pfree(scan->zeros);
	}
	list_free(scan->partitions);
	pfree(scan);
}

/* Adds a segment; where the range cuts it, or it has no sums, its rows are read, else its pairs. */
static void
estimate_segment(PfsScanEstimate *estimate, const PfsSegmentRow *row, const PfsSelection *selection)
{
	double from = (double) Max(row->time.min, selection->from);
	double to = (double) Min(row->time.max + 1, selection->to);
	double length = (double) row->time.max + 1 - (double) row->time.min;
	bool is_whole = row->time.min >= selection->from && row->time.max < selection->to;
	bool has_sums = pfs_enable_summaries && is_whole && row->summary_byte_count > 0;

	if (!row->time.known || from >= to)
		return;
	estimate->sample_count += row->row_count * (to - from) / length;
	estimate->decoded_rows += has_sums ? row->row_count / PFS_ROWS_PER_SUM : row->row_count;
	estimate->byte_count += (double) (has_sums ? row->summary_byte_count : row->byte_count);
}

static void
estimate_partition(PfsScanEstimate *estimate, Oid relid, const PfsSelection *selection)
{
	/* locked by collect_partitions */
	Relation relation = table_open(relid, NoLock);

	if (relation->rd_rel->relam == get_table_am_oid("profstore", true))
	{
		PfsDirectoryScan *scan =
			pfs_directory_scan_begin(pfs_storage_id(relation), GetActiveSnapshot());
		PfsSegmentRow row;

		while (pfs_directory_scan_next(scan, &row))
		{
			CHECK_FOR_INTERRUPTS();
			estimate_segment(estimate, &row, selection);
		}
		pfs_directory_scan_end(scan);
	}
	else
	{
		estimate->sample_count += Max(relation->rd_rel->reltuples, 0);
		estimate->decoded_rows += Max(relation->rd_rel->reltuples, 0);
		estimate->byte_count += (double) Max(relation->rd_rel->relpages, 0) * BLCKSZ;
	}
	table_close(relation, NoLock);
}

PfsScanEstimate
pfs_sample_scan_estimate(TimestampTz from, TimestampTz to)
{
	PfsSelection selection = { .from = from, .to = to };
	PfsScanEstimate estimate = { 0, 0, 0 };
	List *partitions = NIL;
	ListCell *cell;

	if (from >= to)
		return estimate;
	partitions = collect_partitions(NIL, pfs_relation_find("samples"), &selection);
	for (int i = 0; i < PFS_TIER_COUNT; i++)
	{
		Oid relid = pfs_relation_find(pfs_tiers[i].table);

		if (OidIsValid(relid))
			partitions = collect_partitions(partitions, relid, &selection);
	}
	foreach(cell, partitions)
		estimate_partition(&estimate, lfirst_oid(cell), &selection);
	return estimate;
}
