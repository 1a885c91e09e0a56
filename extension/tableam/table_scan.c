/*
 * table_scan.c
 *		Sequential scans: rows from blocks, in both directions, alone or in parallel; and
 *		ANALYZE's sample.
 */
#include "tableam/table_am.h"

#include "access/relscan.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/rel.h"
#include "utils/sampling.h"
#include "utils/snapmgr.h"

#include "store/scan/block_scan.h"
#include "store/segment/storage.h"
#include "store/segment/value.h"

/* ANALYZE reads about this many blocks, spread evenly over the table. */
#define ANALYZE_BLOCKS 1000

typedef struct PfsTableScan
{
	TableScanDescData base;
	MemoryContext context; /* memory for the block scan */
	PfsBlockScan *blocks;  /* NULL until the first row */
	int attribute_count;
	AttrNumber *attnums; /* live attributes, the columns of each block */
	PfsBlock block;
	int64 row; /* current row of the block; -1 before its first row, row_count after its last */

	double analyze_stride; /* blocks from one sampled block to the next; at least 1 */
	double analyze_next;   /* number of the next block to sample */
	uint64 analyze_block;  /* number of the scan's next block */
	bool analyze_counted;
} PfsTableScan;

/* Returns the shared part of a parallel scan, which follows core's descriptor. */
static PfsSharedScan *
shared_scan(ParallelTableScanDesc parallel)
{
	return (PfsSharedScan *) ((char *) parallel + MAXALIGN(sizeof(ParallelTableScanDescData)));
}

TableScanDesc
pfs_scan_begin(Relation relation, Snapshot snapshot, int key_count, struct ScanKeyData *keys,
			   ParallelTableScanDesc parallel, uint32 flags)
{
	PfsTableScan *scan = palloc0(sizeof(PfsTableScan));
	TupleDesc desc = RelationGetDescr(relation);

	/* Core passes scan keys only for catalogs. */
	if (key_count > 0)
		elog(ERROR, "scan keys are not supported");

	/* The caller may close the table before the scan ends. */
	RelationIncrementReferenceCount(relation);
	scan->base.rs_rd = relation;
	scan->base.rs_snapshot = snapshot;
	scan->base.rs_parallel = parallel;
	scan->base.rs_flags = flags;
	/* The caller's context lasts as long as the scan. */
	scan->context = CurrentMemoryContext;
	scan->attnums = palloc(sizeof(AttrNumber) * (Size) Max(desc->natts, 1));
	for (int i = 0; i < desc->natts; i++)
		/* Dropped columns have no place in blocks. */
		if (!TupleDescAttr(desc, i)->attisdropped)
			scan->attnums[scan->attribute_count++] = (AttrNumber) (i + 1);
	pgstat_count_heap_scan(relation);
	return &scan->base;
}

void
pfs_scan_end(TableScanDesc base)
{
	PfsTableScan *scan = (PfsTableScan *) base;

	if (scan->blocks != NULL)
		pfs_block_scan_end(scan->blocks);
	RelationDecrementReferenceCount(base->rs_rd);
	/* Core has registered the snapshot for this scan alone. */
	if (base->rs_flags & SO_TEMP_SNAPSHOT)
		UnregisterSnapshot(base->rs_snapshot);
	pfree(scan->attnums);
	pfree(scan);
}

void
pfs_scan_rescan(TableScanDesc base, struct ScanKeyData *keys, bool set_params, bool allow_strat,
				bool allow_sync, bool allow_pagemode)
{
	PfsTableScan *scan = (PfsTableScan *) base;

	/* The block scan keeps its list of segments, because the snapshot is the same. */
	if (scan->blocks != NULL)
		pfs_block_scan_rewind(scan->blocks);
	scan->block.row_count = 0;
	scan->row = -1;
	pgstat_count_heap_scan(base->rs_rd);
}

/*
 * Begins the block scan. It is called with the first row, because a plan may begin scans that it
 * never reads. The function is not inlined, because it would enlarge the loop over rows.
 */
static pg_noinline void
table_begin_blocks(PfsTableScan *scan, TupleDesc desc)
{
	TableScanDesc base = &scan->base;
	MemoryContext outer = MemoryContextSwitchTo(scan->context);
	PfsScanRequest request = { .relation = base->rs_rd,
							   .snapshot = base->rs_snapshot,
							   .attribute_count = scan->attribute_count,
							   .attnums = scan->attnums };

	if (request.snapshot == NULL)
		request.snapshot = GetActiveSnapshot(); /* ANALYZE passes no snapshot */
	if (base->rs_parallel != NULL)
		request.shared = shared_scan(base->rs_parallel);
	scan->blocks = pfs_block_scan_begin(&request);
	/* A rewrite that adds columns passes the old description of the table. */
	if (desc != RelationGetDescr(base->rs_rd))
		pfs_block_scan_use_defaults(scan->blocks, desc);
	scan->row = -1;
	MemoryContextSwitchTo(outer);
}

/* Moves to the next or previous row; returns false at the end. */
static bool
table_step_row(PfsTableScan *scan, bool forward)
{
	scan->row += forward ? 1 : -1;
	if (scan->row >= 0 && scan->row < scan->block.row_count)
		return true;

	if (forward ? !pfs_block_scan_next(scan->blocks, &scan->block)
				: !pfs_block_scan_previous(scan->blocks, &scan->block))
	{
		/* Without rows in the block, the next step in either direction fetches one. */
		scan->block.row_count = 0;
		scan->row = forward ? 0 : -1;
		return false;
	}
	/* counts all rows of a block at once, as pgstat_count_heap_getnext() would one by one */
	pgstat_count_index_tuples(scan->base.rs_rd, scan->block.row_count);
	scan->row = forward ? 0 : (int64) scan->block.row_count - 1;
	return true;
}

/*
 * Stores a row in the slot. Its ctid is its place in this scan: unique within it and in order, but
 * another snapshot may find another row there. In a rewrite that adds columns the slot has only the
 * old columns.
 */
static void
table_store_row(PfsTableScan *scan, TupleTableSlot *slot)
{
	const PfsBlock *block = &scan->block;
	int slot_natts = slot->tts_tupleDescriptor->natts;

	if (scan->attribute_count < slot_natts)
		memset(slot->tts_isnull, true, sizeof(bool) * (Size) slot_natts);
	for (int i = 0; i < scan->attribute_count; i++)
	{
		int attribute = scan->attnums[i] - 1;

		/* Columns that the rewrite adds come after the slot's. */
		if (attribute >= slot_natts)
			break;
		slot->tts_values[attribute] = pfs_datum_of_value(block->values[i][scan->row]);
		slot->tts_isnull[attribute] = block->nulls[i] != NULL && block->nulls[i][scan->row];
	}
	slot->tts_tableOid = RelationGetRelid(scan->base.rs_rd);
	/* PostgreSQL's ctid has 48 bits: the block's number has 32, the row's position 16, from 1. */
	slot->tts_tid.ip_blkid.bi_hi = (uint16) (block->number >> 16);
	slot->tts_tid.ip_blkid.bi_lo = (uint16) block->number;
	slot->tts_tid.ip_posid = (OffsetNumber) (scan->row + 1);
	ExecStoreVirtualTuple(slot);
}

bool
pfs_scan_getnextslot(TableScanDesc base, ScanDirection direction, TupleTableSlot *slot)
{
	PfsTableScan *scan = (PfsTableScan *) base;

	ExecClearTuple(slot);
	if (scan->blocks == NULL)
		table_begin_blocks(scan, slot->tts_tupleDescriptor);
	if (!table_step_row(scan, !ScanDirectionIsBackward(direction)))
		return false;
	table_store_row(scan, slot);
	return true;
}

Size
pfs_parallelscan_estimate(Relation relation)
{
	return add_size(MAXALIGN(sizeof(ParallelTableScanDescData)), pfs_shared_scan_bytes(relation));
}

Size
pfs_parallelscan_initialize(Relation relation, ParallelTableScanDesc parallel)
{
	pfs_set_scanned_table(parallel, relation);
	/* Blocks of a table have no fixed place, so scans cannot be synchronised. */
	parallel->phs_syncscan = false;
	pfs_shared_scan_init(relation, shared_scan(parallel));
	return pfs_parallelscan_estimate(relation);
}

void
pfs_parallelscan_reinitialize(Relation relation, ParallelTableScanDesc parallel)
{
	pfs_shared_scan_rewind(shared_scan(parallel));
}

/*
 * Presents the table to ANALYZE as one block. The rows of that block are those of up to about
 * ANALYZE_BLOCKS of our blocks, evenly spread from a random start; core draws its sample from them.
 * The row count is exact.
 */
bool
pfs_scan_analyze_next_block(TableScanDesc base, PFS_ANALYZE_BLOCK_PARAMS)
{
	PfsTableScan *scan = (PfsTableScan *) base;

	/* PostgreSQL counts pages, which these tables do not have: all rows come as one block. */
	if (!PFS_ANALYZE_TAKE_BLOCK() || scan->blocks != NULL)
		return false;
	table_begin_blocks(scan, RelationGetDescr(base->rs_rd));
	scan->analyze_stride =
		Max(1.0, (double) pfs_block_scan_block_count(scan->blocks) / ANALYZE_BLOCKS);
	/* The random start lets all blocks be drawn, not always the first of each stride. */
	scan->analyze_next = anl_random_fract() * (scan->analyze_stride - 1.0);
	return true;
}

/* Skips the blocks up to the next one to sample. */
static void
skip_to_sample(PfsTableScan *scan)
{
	/* The fraction stays in analyze_next, so the strides add up exactly. */
	uint64 target = (uint64) scan->analyze_next;

	if (target > scan->analyze_block)
		pfs_block_scan_skip(scan->blocks, target - scan->analyze_block);
	scan->analyze_block = target + 1;
	scan->analyze_next += scan->analyze_stride;
}

bool
pfs_scan_analyze_next_tuple(TableScanDesc base, TransactionId oldest_xmin, double *live_rows,
							double *dead_rows, TupleTableSlot *slot)
{
	PfsTableScan *scan = (PfsTableScan *) base;

	/* PostgreSQL adds up live rows over its blocks, so the exact count is added once. */
	if (!scan->analyze_counted)
	{
		*live_rows += (double) pfs_block_scan_row_count(scan->blocks);
		scan->analyze_counted = true;
	}
	ExecClearTuple(slot);
	if (scan->row + 1 >= scan->block.row_count)
		skip_to_sample(scan);
	if (!table_step_row(scan, true))
		return false;
	table_store_row(scan, slot);
	return true;
}
