/*
 * kept_chunk.h
 *		The rows of a segment's chunk that pass the verdicts, summed by series and time.
 *
 * Segments never change, so a kept chunk is valid for every later scan with equal verdicts. It
 * contains no pointers, so it may be copied, also to other processes.
 */
#ifndef PFS_KEPT_CHUNK_H
#define PFS_KEPT_CHUNK_H

#include "profstore.h"

#include "base/arrays.h"

/*
 * Identifies a chunk. No two segments ever have equal numbers (store/README.md, Invariants). A
 * renamed column may change its role, so the numbers of the columns are part of the key.
 */
typedef struct PfsChunkKey
{
	int64 storage_id;
	int64 segment_no;
	/* attribute numbers of series, time, value and the judged column, 16 bits each */
	int64 columns;
	int64 chunk; /* number of the chunk in the segment, see scan_units.h */
} PfsChunkKey;

/* Rows of one series, by ascending time. They end before row end. */
typedef struct PfsKeptRun
{
	int64 series;
	int64 end;
} PfsKeptRun;

typedef struct PfsKeptChunk
{
	PfsChunkKey key;
	Size bytes;			 /* size of the whole, a multiple of MAXIMUM_ALIGNOF */
	uint32 source_rows;	 /* rows of the chunk before filters and verdicts */
	bool has_all_series; /* false: only the series in wanted[] */
	uint32 wanted_count;
	uint32 run_count;
	uint32 row_count;
	int64 least_time;
	/*
	 * Arrays after the struct: int64 wanted[wanted_count], ascending; PfsKeptRun runs[run_count];
	 * int64 values[row_count]; uint32 times[row_count], above least_time.
	 */
} PfsKeptChunk;

/* A row to keep. */
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
 * Builds a kept chunk in CurrentMemoryContext. The rows are sorted by series and time, each pair
 * once; wanted is NULL if all series were wanted. Returns NULL if there are not far fewer rows than
 * source rows, or their times span more than 32 bits.
 */
PfsKeptChunk *pfs_kept_chunk_make(const PfsChunkKey *key, uint32 source_rows,
								  const PfsNumbers *wanted, const PfsKeptRow *rows,
								  uint32 row_count);

/*
 * Returns true if the kept chunk has all rows of the wanted series. wanted is NULL if all series
 * are wanted.
 */
bool pfs_kept_chunk_serves(const PfsKeptChunk *chunk, const PfsNumbers *wanted);

#endif
