/*
 * rollup_pieces.c
 *		Divides the series of a roll-up into pieces.
 *
 * A piece should have few enough sums that reading one of its series costs little more than opening
 * it. The number of series follows from the pieces already made: the next piece takes as many as
 * the last one suggests, and half of them if that were too many. Each piece reads the segments
 * once, so only one piece is in memory.
 */
#include "store/compact/rollup_pieces.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/compact/rollup_sums.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"

/*
 * Number of sums that a piece should have, and that it may have at most unless it is a single
 * series.
 */
#define PIECE_SUMS		65536
#define MOST_PIECE_SUMS (2 * PIECE_SUMS)

/* Series of the first piece. A table with at most as many series has one piece. */
#define FIRST_SERIES 64

/* Sums by series are worth their bytes if each stands for this many samples on average. */
#define LEAST_SAMPLES_PER_SUM 16

/* Writes a piece. Returns its number of sums, or 0 if there were too many. */
static uint32
write_piece(Relation relation, Snapshot snapshot, const PfsRollup *rollup, int32 number,
			PfsNumbers series)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore roll-up piece",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsRollup piece = *rollup;
	uint32 count = 0;
	PfsRows rows;

	piece.piece = number;
	piece.series = series;
	if (pfs_rollup_sums(relation, snapshot, &piece,
						series.count == 1 ? PFS_SEGMENT_MAX_ROWS : MOST_PIECE_SUMS, &rows))
	{
		count = rows.row_count;
		piece.stack_count = (int32) count;
		/* The lists stand in the row of the roll-up and are not repeated in its pieces. */
		piece.segments = piece.series = piece.others = (PfsNumbers){ 0 };
		piece.stack_series = piece.pieces = (PfsNumbers){ 0 };
		pfs_segment_encode_apart(relation, &rows, &piece.header, &piece.payload);
		pfs_rollup_insert(pfs_storage_id(relation), &piece);
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	return count;
}

/*
 * Returns the number of series for the next piece, after a piece of series_count series with
 * sum_count sums.
 */
static uint32
next_series_count(uint32 series_count, uint32 sum_count)
{
	if (sum_count == 0)
		/* 0 for a single series: the caller gives up. */
		return series_count / 2;
	return (uint32) Min(Max((uint64) series_count * PIECE_SUMS / sum_count, 1),
						/*
						 * At most double, because one piece may have had exceptionally small
						 * series.
						 */
						2 * (uint64) series_count);
}

PfsNumbers
pfs_rollup_pieces_build(Relation relation, Snapshot snapshot, const PfsRollup *rollup)
{
	int64 left = rollup->sample_count / LEAST_SAMPLES_PER_SUM;
	int64 *firsts = PFS_ARRAY(int64, rollup->series.count);
	PfsNumbers pieces = { 0, firsts };
	/* For one series the roll-up itself has these sums. */
	uint32 series_count = rollup->series.count > 1 ? FIRST_SERIES : 0;

	for (uint32 next = 0; next < rollup->series.count && series_count > 0;)
	{
		PfsNumbers series = { Min(series_count, rollup->series.count - next),
							  rollup->series.numbers + next };
		uint32 sum_count;

		CHECK_FOR_INTERRUPTS();
		sum_count = write_piece(relation, snapshot, rollup, (int32) pieces.count + 1, series);
		series_count = next_series_count(series.count, sum_count);
		/* Too many sums: try the same series again, in a smaller piece. */
		if (sum_count == 0)
			continue;
		firsts[pieces.count++] = series.numbers[0];
		next += series.count;
		left -= sum_count;
		/* too many sums: series_count 0 ends the loop and marks the failure */
		if (left < 0)
			series_count = 0;
	}
	if (series_count > 0)
		return pieces;
	/* make the pieces written above visible, so that they can be deleted */
	CommandCounterIncrement();
	pfs_rollup_delete_pieces(pfs_storage_id(relation), rollup);
	return (PfsNumbers){ 0, firsts };
}
