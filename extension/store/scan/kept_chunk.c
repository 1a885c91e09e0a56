/*
 * kept_chunk.c
 *		Making one of rows.
 */
#include "store/scan/kept_chunk.h"

#include "common/int.h"

/* Keeping pays where a row stands for so many. */
#define LEAST_ROWS_EACH 8

static uint32
count_runs(const PfsChunkRows *rows)
{
	uint32 count = rows->count > 0;

	for (uint32 row = 1; row < rows->count; row++)
		count += rows->series[row] != rows->series[row - 1];
	return count;
}

/* Sets the least and the greatest time; false where they lie too far apart. */
static bool
find_times(const PfsChunkRows *rows, int64 *least, int64 *greatest)
{
	int64 range;

	*least = *greatest = rows->count > 0 ? rows->times[0] : 0;
	for (uint32 row = 1; row < rows->count; row++)
	{
		*least = Min(*least, rows->times[row]);
		*greatest = Max(*greatest, rows->times[row]);
	}
	return !pg_sub_s64_overflow(*greatest, *least, &range) && range <= PG_UINT32_MAX;
}

static void
fill_runs(const PfsChunkRows *rows, PfsKeptRun *runs)
{
	for (uint32 row = 0; row < rows->count; row++)
	{
		if (row > 0 && rows->series[row] != rows->series[row - 1])
			runs++;
		*runs = (PfsKeptRun){ .series = rows->series[row], .end = row + 1 };
	}
}

PfsKeptChunk *
pfs_kept_chunk_make(const PfsChunkKey *key, uint32 source_rows, const PfsNumbers *wanted,
					const PfsChunkRows *rows)
{
	PfsKeptChunk head = { .key = *key,
						  .source_rows = source_rows,
						  .has_all_series = wanted == NULL,
						  .wanted_count = wanted == NULL ? 0 : wanted->count,
						  .run_count = count_runs(rows),
						  .row_count = rows->count };
	int64 greatest;
	PfsKeptChunk *chunk;
	uint32 *times;

	if ((uint64) rows->count * LEAST_ROWS_EACH > source_rows ||
		!find_times(rows, &head.least_time, &greatest))
		return NULL;
	head.bytes = MAXALIGN(sizeof(PfsKeptChunk) + sizeof(int64) * head.wanted_count +
						  sizeof(PfsKeptRun) * head.run_count +
						  (sizeof(int64) + sizeof(uint32)) * head.row_count);
	chunk = palloc0(head.bytes);
	*chunk = head;
	if (wanted != NULL)
		memcpy(unconstify(int64 *, pfs_kept_wanted(chunk)), wanted->numbers,
			   sizeof(int64) * wanted->count);
	fill_runs(rows, unconstify(PfsKeptRun *, pfs_kept_runs(chunk)));
	memcpy(unconstify(int64 *, pfs_kept_values(chunk)), rows->values, sizeof(int64) * rows->count);
	times = unconstify(uint32 *, pfs_kept_times(chunk));
	for (uint32 row = 0; row < rows->count; row++)
		times[row] = (uint32) (rows->times[row] - head.least_time);
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
	return wanted != NULL;
}
