/*
 * block_scan.c
 *		Steps over units and blocks.
 *
 * 1. pfs_block_scan_begin() lists the units: segments, waiting rows, roll-ups instead of segments
 *    (scan_units.c).
 * 2. A step moves to the next block, or the previous one, and opens its unit with the first block
 *    read of it (open_unit.c). Processes that share a scan take chunks of a unit in turn.
 * 3. The block is read and filtered (read_block.c); if no row is left, the step goes on. If the
 *    verdicts have kept the sums of a chunk, the scan returns these instead of its blocks
 *    (keep_chunks.c).
 */
#include "store/scan/block_scan.h"

#include "access/tupdesc.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "store/scan/keep_chunks.h"
#include "store/scan/open_unit.h"
#include "store/scan/read_block.h"
#include "store/scan/scan_state.h"
#include "store/scan/scan_units.h"
#include "store/segment/storage.h"
#include "store/segment/value.h"

/* Returns the scan's column of an attribute, and adds it if it is new. */
static PfsScanColumn *
add_column(PfsBlockScan *scan, AttrNumber attnum, bool is_wanted)
{
	TupleDesc desc = RelationGetDescr(scan->relation);
	PfsScanColumn *column;
	Form_pg_attribute attribute;

	for (uint32 i = 0; i < scan->column_count; i++)
		if (scan->columns[i]->attnum == attnum)
		{
			/* A column that is filtered and asked for is decoded once. */
			scan->columns[i]->is_wanted |= is_wanted;
			return scan->columns[i];
		}

	column = palloc0(sizeof(PfsScanColumn));
	column->attnum = attnum;
	column->is_wanted = is_wanted;
	scan->columns[scan->column_count++] = column;
	if (attnum == PFS_ROW_COUNT_ATTNUM)
	{
		/* a stored row without a row count stands for one row */
		column->missing_value = 1;
		return column;
	}
	if (attnum <= 0 || attnum > desc->natts)
		elog(ERROR, "table \"%s\" has no column number %d", RelationGetRelationName(scan->relation),
			 attnum);
	attribute = TupleDescAttr(desc, attnum - 1);
	if (!attribute->attisdropped)
		column->kind = pfs_value_kind(attribute->atttypid);
	/* A column added with a default has it in all rows that were stored before. */
	column->missing_is_null =
		attribute->attisdropped ||
		!pfs_storage_missing_value(scan->relation, attnum, &column->missing_value);
	column->missing_value = pfs_value_native(column->kind, column->missing_value);
	return column;
}

/* Adds a filter. Ranges on one column are combined into one filter. */
static void
add_filter(PfsBlockScan *scan, const PfsBlockFilter *added)
{
	PfsScanFilter *filter;

	for (int i = 0; i < scan->filter_count; i++)
		if (pfs_filter_narrow(&scan->filters[i].filter, added))
			return;
	filter = &scan->filters[scan->filter_count++];
	filter->filter = *added;
	filter->column = add_column(scan, added->attnum, false);
	/* Filters on floats compare keys whose order is that of the numbers. */
	if (!pfs_value_is_ordered(filter->column->kind))
		filter->keys = palloc(sizeof(int64) * PFS_BLOCK_ROWS);
}

/*
 * Lists the columns to read: those that are returned, those of filters, and the one that verdicts
 * judge.
 */
static void
block_scan_init_columns(PfsBlockScan *scan, const PfsScanRequest *request)
{
	Size attributes = (Size) Max(request->attribute_count, 1);
	/*
	 * Two more columns at most: that of the verdicts, and the stack for a roll-up read in parts,
	 * which needs a filter as well.
	 */
	Size filter_slots = (Size) request->filter_count + 2;

	scan->columns = palloc(sizeof(PfsScanColumn *) * (attributes + filter_slots));
	scan->attribute_count = request->attribute_count;
	scan->attributes = palloc(sizeof(PfsScanColumn *) * attributes);
	scan->result_values = palloc0(sizeof(int64 *) * attributes);
	scan->result_nulls = palloc0(sizeof(bool *) * attributes);
	for (int i = 0; i < request->attribute_count; i++)
		scan->attributes[i] = add_column(scan, request->attnums[i], true);

	scan->filters = palloc0(sizeof(PfsScanFilter) * filter_slots);
	for (int i = 0; i < request->filter_count; i++)
		add_filter(scan, &request->filters[i]);
	scan->verdicts = request->verdicts;
	if (request->verdicts != NULL)
		scan->judged = add_column(scan, request->verdicts->attnum, false);
}

/*
 * With verdicts, passing rows are summed if the request asks for exactly series, time and one more
 * column.
 */
static void
find_added_by_time(PfsBlockScan *scan)
{
	for (int i = 0; i < scan->attribute_count; i++)
	{
		PfsScanColumn *column = scan->attributes[i];

		if (column->attnum == scan->key.series)
			scan->added_series = column;
		else if (column->attnum == scan->key.time)
			scan->added_times = column;
		else if (column->attnum > 0)
			scan->added = column;
	}
	/* Any further attribute would be lost in a sum. */
	if (scan->attribute_count != 3 || scan->added_series == NULL || scan->added_times == NULL)
		scan->added = NULL;
}

/*
 * Decides if rows in a range of time are summed. That is so if the request asks, besides series
 * and stack, for one column, for the number of rows, or for both.
 */
static void
find_added_by_stack(PfsBlockScan *scan)
{
	int added_count = 0;

	for (int i = 0; i < scan->attribute_count; i++)
	{
		PfsScanColumn *column = scan->attributes[i];

		if (column->attnum == PFS_ROW_COUNT_ATTNUM)
			scan->counted = column;
		else if (!pfs_scan_is_key_of_sums(scan, PFS_PART_PAIRS, column->attnum))
		{
			scan->added = column;
			added_count++;
		}
	}
	/* pfs_scan_add_up_range() sums one column; for a second one the rows are read. */
	scan->adds_groups = added_count < 2 && (scan->added != NULL || scan->counted != NULL);
}

static void
find_added(PfsBlockScan *scan)
{
	if (scan->verdicts != NULL && scan->sums == PFS_PART_SCRAPES)
		find_added_by_time(scan);
	else if (scan->verdicts == NULL && scan->sums == PFS_PART_PAIRS)
		find_added_by_stack(scan);
}

/*
 * Replaces segments by roll-ups. A roll-up of which only some parts are wanted needs a filter on
 * the stack, so that column is added.
 */
static void
block_scan_roll_up(PfsBlockScan *scan, const PfsScanRequest *request)
{
	pfs_scan_units_roll_up(request, &scan->units);
	for (uint32 i = 0; i < scan->units.count; i++)
		if (scan->units.units[i].parts.numbers != NULL)
			scan->part_column = add_column(scan, scan->key.stack, false);
}

PfsBlockScan *
pfs_block_scan_begin(const PfsScanRequest *request)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsBlockScan *scan = palloc0(sizeof(PfsBlockScan));

	scan->context = context;
	scan->unit_context =
		AllocSetContextCreate(context, "profstore scan unit", ALLOCSET_DEFAULT_SIZES);
	scan->relation = request->relation;
	scan->snapshot = request->snapshot;
	scan->shared = request->shared;
	scan->sums = pfs_enable_summaries ? request->sums : PFS_PART_ROWS;
	scan->key = pfs_row_key(request->relation);
	scan->unit = -1;
	block_scan_init_columns(scan, request);
	find_added(scan);

	/* For SERIALIZABLE: the scan depends on the whole table, as in a sequential scan of heap. */
	PredicateLockRelation(request->relation, request->snapshot);
	pfs_scan_units_list(request, &scan->units);
	scan->counters.segments_total = scan->units.count + scan->units.skipped_count;
	scan->counters.segments_skipped = scan->units.skipped_count;
	/* the processes of a shared scan must all get the same units */
	if (scan->sums == PFS_PART_PAIRS && request->shared == NULL)
		block_scan_roll_up(scan, request);
	MemoryContextSwitchTo(outer);
	return scan;
}

void
pfs_block_scan_use_defaults(PfsBlockScan *scan, TupleDesc desc)
{
	for (uint32 i = 0; i < scan->column_count; i++)
	{
		PfsScanColumn *column = scan->columns[i];

		if (column->missing_is_null && column->attnum > 0 && column->attnum <= desc->natts &&
			!TupleDescAttr(desc, column->attnum - 1)->attisdropped)
			column->missing_is_null =
				!pfs_desc_missing_value(desc, column->attnum, &column->missing_value);
	}
}

/*
 * Moves to the next chunk of a shared scan, which may belong to the open unit. Returns false at the
 * end. Chunk numbers only rise, so the search for the unit starts at the current one.
 */
static bool
step_chunk(PfsBlockScan *scan)
{
	uint64 chunk = pg_atomic_fetch_add_u64(&scan->shared->next_chunk, 1);
	int64 count = scan->units.count;
	int64 unit = Max(scan->unit, 0);
	int64 first;

	/* Other processes may have taken all chunks of the units in between. */
	while (unit < count && chunk >= scan->units.units[unit].first_chunk +
										pfs_scan_unit_chunk_count(&scan->units.units[unit]))
		unit++;
	/* The next chunk of the same unit goes on with its open reader. */
	if (unit != scan->unit)
		scan->unit_is_open = false;
	scan->unit = unit;
	if (unit >= count)
		return false;
	first = (int64) (chunk - pfs_scan_current_unit(scan)->first_chunk) * PFS_CHUNK_BLOCKS;
	scan->block = first - 1;
	scan->block_end = Min(first + PFS_CHUNK_BLOCKS,
						  (int64) pfs_scan_unit_block_count(pfs_scan_current_unit(scan)));
	if (scan->unit_is_open)
		pfs_scan_set_block_end(scan);
	return true;
}

/*
 * Steps to the next or previous unit, or in a shared scan to the next chunk. Returns false at the
 * end.
 */
static bool
step_unit(PfsBlockScan *scan, int direction)
{
	int64 count = scan->units.count;

	if (scan->shared != NULL)
		return step_chunk(scan);
	/*
	 * Past either end the scan stands before the first or after the last unit, from where it can
	 * turn round.
	 */
	scan->unit = Max(-1, Min(scan->unit + direction, count));
	scan->unit_is_open = false;
	if (scan->unit < 0 || scan->unit >= count)
		return false;
	scan->block_end = (int64) pfs_scan_unit_block_count(pfs_scan_current_unit(scan));
	/* Outside the unit, so that the next step is its first block, or its last. */
	scan->block = direction > 0 ? -1 : scan->block_end;
	return true;
}

static bool
on_unit(const PfsBlockScan *scan)
{
	return scan->unit >= 0 && scan->unit < scan->units.count;
}

/* Reads the current block, or the kept data of its chunk. Returns false if it has no rows. */
static bool
read_forward(PfsBlockScan *scan, PfsBlock *block)
{
	bool has_rows;

	if (!scan->keeping.is_on)
		return pfs_scan_read_block(scan, block);
	/* The kept data replace whole chunks, so they are looked for only where a chunk begins. */
	if (scan->block % PFS_CHUNK_BLOCKS == 0 && pfs_scan_enter_chunk(scan))
		return pfs_scan_give_kept(scan, block);
	has_rows = pfs_scan_read_block(scan, block);
	pfs_scan_note_block(scan, has_rows);
	return has_rows;
}

/*
 * Moves in the given direction to the next block with rows, across units if needed. Returns false
 * at the end.
 */
static bool
block_scan_step(PfsBlockScan *scan, int direction, PfsBlock *block)
{
	/* A kept chunk may have more rows than one block holds. */
	if (scan->keeping.chunk != NULL && pfs_scan_give_kept(scan, block))
		return true;
	for (;;)
	{
		if (!on_unit(scan))
		{
			if (!step_unit(scan, direction))
				return false;
		}
		CHECK_FOR_INTERRUPTS();
		if (!scan->unit_is_open)
		{
			pfs_scan_open_unit(scan);
			pfs_scan_keep_unit(scan);
		}
		scan->block += direction;
		/* step_unit() also closes the unit, which is opened when its first block is read. */
		if (scan->unit_is_skipped || scan->block < 0 || scan->block >= scan->block_end)
		{
			if (!step_unit(scan, direction))
				return false;
			continue;
		}
		if (direction > 0 ? read_forward(scan, block) : pfs_scan_read_block(scan, block))
			return true;
	}
}

bool
pfs_block_scan_next(PfsBlockScan *scan, PfsBlock *block)
{
	return block_scan_step(scan, 1, block);
}

bool
pfs_block_scan_previous(PfsBlockScan *scan, PfsBlock *block)
{
	Assert(scan->shared == NULL);
	return block_scan_step(scan, -1, block);
}

void
pfs_block_scan_rewind(PfsBlockScan *scan)
{
	scan->unit = -1;
	scan->unit_is_open = false;
	scan->keeping.chunk = NULL;
}

void
pfs_block_scan_skip(PfsBlockScan *scan, uint64 block_count)
{
	if (!on_unit(scan) && !step_unit(scan, 1))
		return;
	for (;;)
	{
		/* Blocks after the current one; -1 stands before the first. */
		uint64 left =
			pfs_scan_unit_block_count(pfs_scan_current_unit(scan)) - (uint64) (scan->block + 1);

		if (block_count < left)
		{
			scan->block += (int64) block_count;
			return;
		}
		block_count -= left;
		if (!step_unit(scan, 1))
			return;
	}
}

uint64
pfs_block_scan_row_count(const PfsBlockScan *scan)
{
	return scan->units.row_count;
}

uint64
pfs_block_scan_block_count(const PfsBlockScan *scan)
{
	return scan->units.block_count;
}

const PfsScanCounters *
pfs_block_scan_counters(const PfsBlockScan *scan)
{
	return &scan->counters;
}

void
pfs_block_scan_end(PfsBlockScan *scan)
{
	MemoryContextDelete(scan->context);
}
