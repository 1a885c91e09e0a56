/*
 * kept_chunk.h
 *		What verdicts let pass of a chunk of a segment, added up by series and time.
 *
 * Segments never change, so it holds for every later scan with the same verdicts. It has no
 * pointers: it may be copied, also to other processes.
 */
#ifndef PFS_KEPT_CHUNK_H
#define PFS_KEPT_CHUNK_H

#include "profstore.h"

#include "base/arrays.h"

/*
 * No two segments ever have the same (store/README.md, Invariants). Columns may change their names,
 * and so their roles.
 */
typedef struct PfsChunkKey
{
	int64 storage_id;
	int64 segment_no;
	int64 columns; /* numbers of series, time, value, and what was judged, in 16 bits each */
	int64 chunk;   /* of the segment, see scan_units.h */
} PfsChunkKey;

/* Rows of one series, by ascending time; they end before a row. */
typedef struct PfsKeptRun
{
	int64 series;
	int64 end;
} PfsKeptRun;

typedef struct PfsKeptChunk
{
	PfsChunkKey key;
	Size bytes;			 /* of all of it, a multiple of MAXIMUM_ALIGNOF */
	uint32 source_rows;	 /* of the chunk: that were looked at */
	bool has_all_series; /* else those that were wanted: */
	uint32 wanted_count;
	uint32 run_count;
	uint32 row_count;
	int64 least_time;
	/*
	 * int64 wanted[wanted_count], ascending; PfsKeptRun runs[run_count]; int64 values[row_count];
	 * uint32 times[row_count], above least_time
	 */
} PfsKeptChunk;

/* A row that is to be kept. */
typedef struct PfsKeptRow
{
	int64 series;
	int64 time;
	int64 value;
} PfsKeptRow;

static inline const int64 *
pfs_kept_wanted(const PfsKeptChunk *chunk)
{
	return (const int64 *) (chunk + 1);
}

static inline const PfsKeptRun *
pfs_kept_runs(const PfsKeptChunk *chunk)
{
	return (const PfsKeptRun *) (pfs_kept_wanted(chunk) + chunk->wanted_count);
}

static inline const int64 *
pfs_kept_values(const PfsKeptChunk *chunk)
{
	return (const int64 *) (pfs_kept_runs(chunk) + chunk->run_count);
}

static inline const uint32 *
pfs_kept_times(const PfsKeptChunk *chunk)
{
	return (const uint32 *) (pfs_kept_values(chunk) + chunk->row_count);
}

/*
 * A new one in CurrentMemoryContext of so many rows, by series, then time, each pair once; wanted
 * is NULL where all series were. NULL where its rows are not well fewer than those that they stand
 * for, or their times lie further apart than times[] tells.
 */
PfsKeptChunk *pfs_kept_chunk_make(const PfsChunkKey *key, uint32 source_rows,
								  const PfsNumbers *wanted, const PfsKeptRow *rows,
								  uint32 row_count);

/* Whether it has all rows of the series that are wanted; NULL: of all. */
bool pfs_kept_chunk_serves(const PfsKeptChunk *chunk, const PfsNumbers *wanted);

#endif
