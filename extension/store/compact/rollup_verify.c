/*
 * rollup_verify.c
 *		Compares roll-ups with the segments that they name.
 */
#include "store/compact/rollup_verify.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "store/compact/rollup_sums.h"
#include "store/scan/rollup.h"
#include "store/scan/scan_units.h"
#include "store/segment/codec_server.h"
#include "store/segment/directory.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"

/* Returns true if the stored sums equal rows. */
static bool
equals_sums(Relation relation, const PfsRollup *rollup, const PfsRows *rows)
{
	PfsSegmentRow row = { .row_count = rollup->stack_count,
						  .header = rollup->header,
						  .payload = rollup->payload };
	PfsSegmentInput *input = pfs_segment_open(relation, &row);
	PfsSegmentReader *reader = pfs_segment_reader(input);
	int64 *values = palloc(sizeof(int64) * PFS_BLOCK_ROWS);
	bool *nulls = palloc(sizeof(bool) * PFS_BLOCK_ROWS);

	/* The roll-up may have more columns, if one was dropped since. */
	if (rows->row_count != pfs_reader_row_count(reader) ||
		rows->column_count > pfs_reader_column_count(reader))
		return false;
	for (uint32 i = 0; i < rows->column_count; i++)
	{
		int column = pfs_reader_find_column(reader, rows->columns[i].attnum);

		if (column < 0)
			return false;
		pfs_segment_load_column(input, column);
		for (uint32 block = 0; block < pfs_reader_block_count(reader); block++)
		{
			uint32 first = block * PFS_BLOCK_ROWS;
			bool has_nulls;
			PfsError error;
			PfsStatus status =
				pfs_reader_block(reader, column, block, values, nulls, &has_nulls, &error);

			CHECK_FOR_INTERRUPTS();
			if (status != PFS_OK)
				pfs_segment_error(relation, PFS_NO_SEGMENT, status, &error);
			if (has_nulls ||
				memcmp(values, rows->columns[i].values + first,
					   sizeof(int64) * Min(PFS_BLOCK_ROWS, rows->row_count - first)) != 0)
				return false;
		}
	}
	return true;
}

/* Returns true if the pieces that exist have the right sums of their series. */
static bool
pieces_are_right(Relation relation, Snapshot snapshot, const PfsRollup *rollup)
{
	for (uint32 number = 1; number <= rollup->pieces.count; number++)
	{
		const PfsRollup *piece =
			pfs_rollup_get_piece(pfs_storage_id(relation), snapshot, rollup, (int32) number);
		PfsRollup expected = *rollup;
		PfsRows rows;

		/* A missing piece is no damage: scans read the segments instead. */
		if (piece == NULL || piece->stack_count == 0)
			continue;
		expected.piece = (int32) number;
		expected.series = pfs_rollup_piece_series(rollup, (int32) number);
		if (!pfs_rollup_sums(relation, snapshot, &expected, PFS_SEGMENT_MAX_ROWS, &rows) ||
			!equals_sums(relation, piece, &rows))
			return false;
	}
	return true;
}

/*
 * Returns true if the list of pieces is valid: the first series of each is one of the roll-up's,
 * they ascend, and the first piece begins with the roll-up's first series.
 */
static bool
pieces_are_told(const PfsRollup *rollup)
{
	for (uint32 i = 0; i < rollup->pieces.count; i++)
		if (!pfs_numbers_contain(rollup->series, rollup->pieces.numbers[i]) ||
			(i > 0 && rollup->pieces.numbers[i] <= rollup->pieces.numbers[i - 1]))
			return false;
	return rollup->pieces.count == 0 || rollup->pieces.numbers[0] == rollup->series.numbers[0];
}

/* Returns true if stack_series lists the parts in which the series have stacks. */
static bool
equals_stack_series(Relation relation, Snapshot snapshot, const PfsRollup *rollup)
{
	PfsNumbers found = pfs_rollup_stack_series(relation, snapshot, rollup);

	return found.count == rollup->stack_series.count &&
		   (found.count == 0 ||
			memcmp(found.numbers, rollup->stack_series.numbers, sizeof(int64) * found.count) == 0);
}

/* Counts the rows of a roll-up's segments. Returns false if a segment is missing or named twice. */
static bool
count_samples(const PfsRollup *rollup, PfsNumbers visible, const int64 *row_counts, int64 *count)
{
	*count = 0;
	for (uint32 i = 0; i < rollup->segments.count; i++)
	{
		int64 position = pfs_numbers_find(visible, rollup->segments.numbers[i]);

		/* Numbers that do not ascend would be found twice, or not at all, by binary search. */
		if (position < 0 ||
			(i > 0 && rollup->segments.numbers[i] <= rollup->segments.numbers[i - 1]))
			return false;
		*count += row_counts[position];
	}
	return true;
}

/*
 * Returns the problem of a roll-up, or NULL. A missing segment is a problem, because the removal of
 * a segment also deletes the roll-ups that name it.
 */
static const char *
find_problem(Relation relation, Snapshot snapshot, const PfsRollup *rollup, PfsNumbers visible,
			 const int64 *row_counts)
{
	PfsRows rows;
	int64 count;

	if (!count_samples(rollup, visible, row_counts, &count))
		return "names segments that are missing";
	if (count != rollup->sample_count)
		return "names another number of samples than its segments have";
	if (rollup->stack_count > 0 && pfs_rollup_fits(rollup, relation) &&
		(!pfs_rollup_sums(relation, snapshot, rollup, PFS_SEGMENT_MAX_ROWS, &rows) ||
		 !equals_sums(relation, rollup, &rows)))
		return "is not the sum of its segments";
	if (rollup->stack_count > 0 && pfs_rollup_fits(rollup, relation) &&
		!equals_stack_series(relation, snapshot, rollup))
		return "names other series of its stacks than its segments have";
	if (rollup->stack_count > 0 && pfs_rollup_fits(rollup, relation) &&
		(!pieces_are_told(rollup) || !pieces_are_right(relation, snapshot, rollup)))
		return "has a piece that is not the sum of its series";
	return NULL;
}

/* Returns the number of rows of each visible segment, in the order of visible. */
static int64 *
list_row_counts(Relation relation, Snapshot snapshot, PfsNumbers visible)
{
	int64 *row_counts = palloc_extended(sizeof(int64) * Max(visible.count, 1), MCXT_ALLOC_HUGE);
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	/* The directory is scanned in order of number, and so is visible, with the same snapshot. */
	for (uint32 i = 0; i < visible.count && pfs_directory_scan_next(scan, &row); i++)
		row_counts[i] = row.row_count;
	pfs_directory_scan_end(scan);
	return row_counts;
}

void
pfs_rollups_verify(Relation relation, Snapshot snapshot,
				   void (*report)(void *arg, const char *problem), void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore roll-up", ALLOCSET_DEFAULT_SIZES);
	List *rollups =
		pfs_rollups_list(pfs_storage_id(relation), snapshot, PG_INT64_MIN, PG_INT64_MAX);
	PfsNumbers visible = { 0 };
	int64 *row_counts = NULL;
	ListCell *cell;

	if (rollups != NIL)
	{
		visible = pfs_visible_segments(relation, snapshot);
		row_counts = list_row_counts(relation, snapshot, visible);
	}
	foreach(cell, rollups)
	{
		PfsRollup *rollup = lfirst(cell);
		MemoryContext outer = MemoryContextSwitchTo(context);
		const char *problem;

		/* The arrays are loaded into the context that is reset after each roll-up. */
		pfs_rollup_load(rollup);
		problem = find_problem(relation, snapshot, rollup, visible, row_counts);
		if (problem != NULL)
			report(arg, psprintf("the roll-up of class %d in bucket %lld of %lld s %s",
								 rollup->class_id, (long long) rollup->bucket,
								 (long long) (rollup->width / USECS_PER_SEC), problem));
		MemoryContextSwitchTo(outer);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}
