/*
 * kept_chunk.c
 *		Builds a kept chunk from rows.
 */
#include "store/scan/kept_chunk.h"

#include "common/int.h"

/* A chunk is kept only if each kept row stands for at least this many source rows. */
#define LEAST_ROWS_EACH 8

static uint32
count_runs(const PfsKeptRow *rows, uint32 row_count)
{
	uint32 count = row_count > 0;

	for (uint32 row = 1; row < row_count; row++)
		count += rows[row].series != rows[row - 1].series;
	return count;
}

/* Sets the least time. Returns false if the times span more than 32 bits. */
static bool
find_times(const PfsKeptRow *rows, uint32 row_count, int64 *least)
{
	int64 greatest = row_count > 0 ? rows[0].time : 0;
	int64 range;

	*least = greatest;
	for (uint32 row = 1; row < row_count; row++)
	{
		*least = Min(*least, rows[row].time);
		greatest = Max(greatest, rows[row].time);
	}
	/* Times are stored as 32-bit distances from the least one, in the unit of the column. */
	return !pg_sub_s64_overflow(greatest, *least, &range) && range <= PG_UINT32_MAX;
}

static void
fill_runs(const PfsKeptRow *rows, uint32 row_count, PfsKeptRun *runs)
{
	for (uint32 row = 0; row < row_count; row++)
	{
		/* Each row moves the end of the current run. */
		if (row > 0 && rows[row].series != rows[row - 1].series)
			runs++;
		*runs = (PfsKeptRun){ .series = rows[row].series, .end = row + 1 };
	}
}

PfsKeptChunk *
pfs_kept_chunk_make(const PfsChunkKey *key, uint32 source_rows, const PfsNumbers *wanted,
					const PfsKeptRow *rows, uint32 row_count)
{
	PfsKeptChunk head = { .key = *key,
						  .source_rows = source_rows,
						  .has_all_series = wanted == NULL,
						  .wanted_count = wanted == NULL ? 0 : wanted->count,
						  .run_count = count_runs(rows, row_count),
						  .row_count = row_count };
	PfsKeptChunk *chunk;
	int64 *values;
	uint32 *times;

	/* Reading this many kept rows would take about as long as summing the blocks again. */
	if ((uint64) row_count * LEAST_ROWS_EACH > source_rows ||
		!find_times(rows, row_count, &head.least_time))
		return NULL;
	head.bytes = MAXALIGN(sizeof(PfsKeptChunk) + sizeof(int64) * head.wanted_count +
						  sizeof(PfsKeptRun) * head.run_count +
						  (sizeof(int64) + sizeof(uint32)) * head.row_count);
	/* One piece without pointers, so that it can be copied into an area shared by queries. */
	chunk = palloc0(head.bytes);
	*chunk = head;
	if (wanted != NULL)
		memcpy(unconstify(int64 *, pfs_kept_wanted(chunk)), wanted->numbers,
			   sizeof(int64) * wanted->count);
	fill_runs(rows, row_count, unconstify(PfsKeptRun *, pfs_kept_runs(chunk)));
	values = unconstify(int64 *, pfs_kept_values(chunk));
	times = unconstify(uint32 *, pfs_kept_times(chunk));
	for (uint32 row = 0; row < row_count; row++)
	{
		values[row] = rows[row].value;
		times[row] = (uint32) (rows[row].time - head.least_time);
	}
	return chunk;
}

bool
pfs_kept_chunk_serves(const PfsKeptChunk *chunk, const PfsNumbers *wanted)
{
	PfsNumbers has = { chunk->wanted_count, pfs_kept_wanted(chunk) };

	if (chunk->has_all_series)
		return true;
	for (uint32 i = 0; wanted != NULL && i < wanted->count; i++)
		if (!pfs_numbers_contain(has, wanted->numbers[i]))
			return false;
	/* A scan of all series needs a chunk of all series. */
	return wanted != NULL;
}
