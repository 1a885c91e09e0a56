/*
 * name_chunks.h
 *		Rows of function_chunks and location_chunks; internal to the room.
 *
 * Chunk n holds ids n * 256 .. n * 256 + 255, as many of them as its bitmap says: bit i % 8 of byte
 * i / 8 stands for id n * 256 + i.
 */
#ifndef PFS_NAME_CHUNKS_H
#define PFS_NAME_CHUNKS_H

#include "profstore.h"

#include "access/genam.h"
#include "access/htup.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "dictionary/cache/name_rows.h"

#define PFS_NAME_BITMAP_BYTES (PFS_NAME_CHUNK_ROWS / 8)

/* Columns of the tables. */
enum
{
	PFS_NAME_CHUNK_NUMBER = 1,
	PFS_NAME_CHUNK_PRESENT,
	PFS_NAME_CHUNK_PAYLOAD,
	PFS_NAME_CHUNK_COLUMNS = PFS_NAME_CHUNK_PAYLOAD
};

/* A chunk as it is stored. */
typedef struct PfsNameChunk
{
	int32 number;
	uint8 present[PFS_NAME_BITMAP_BYTES];
	uint32 count;  /* of ids in it */
	Datum payload; /* points into the tuple */
} PfsNameChunk;

static inline int32
pfs_name_chunk_of(int32 id)
{
	return id >> PFS_NAME_CHUNK_BITS;
}

static inline bool
pfs_name_chunk_has(const PfsNameChunk *chunk, int32 id)
{
	uint32 bit = (uint32) id % PFS_NAME_CHUNK_ROWS;

	return (chunk->present[bit / 8] >> bit % 8 & 1) != 0;
}

/* A chunk of these columns. Raises DATA_CORRUPTED where number or bitmap cannot be. */
void pfs_name_chunk_make(const PfsNameTable *names, int32 number, Datum present, Datum payload,
						 PfsNameChunk *chunk);

/* The same of a row of the table. */
void pfs_name_chunk_read(const PfsNameTable *names, HeapTuple tuple, TupleDesc descriptor,
						 PfsNameChunk *chunk);

/*
 * Unpacks it into rows, UTF-8, by id; there is room for PFS_NAME_CHUNK_ROWS. What they point to is
 * in CurrentMemoryContext. Raises DATA_CORRUPTED, or FEATURE_NOT_SUPPORTED for a newer format.
 */
void pfs_name_chunk_unpack(const PfsNameTable *names, const PfsNameChunk *chunk, PfsNameRow *rows);

/* The same without an error: what is wrong with it, or NULL. */
const char *pfs_name_chunk_check(const PfsNameTable *names, const PfsNameChunk *chunk,
								 PfsNameRow *rows);

/* 1 .. PFS_NAME_CHUNK_ROWS rows, UTF-8, of one chunk, by id: the columns of its row. */
void pfs_name_chunk_fill(const PfsNameTable *names, const PfsNameRow *rows, uint32 count,
						 Datum *values);

/* Chunks by number, in any order. */
typedef struct PfsNameChunkScan
{
	const PfsNameTable *names;
	Relation table;
	Relation index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	MemoryContext context; /* of what the scan keeps from one row to the next */
} PfsNameChunkScan;

void pfs_name_chunks_begin(PfsNameChunkScan *scan, const PfsNameTable *names, Snapshot snapshot,
						   LOCKMODE lock);

/* False: there is none. The chunk, and *tid where that is not NULL, hold until the next call. */
bool pfs_name_chunks_find(PfsNameChunkScan *scan, int32 number, PfsNameChunk *chunk,
						  ItemPointer tid);

/* Leaves the lock. */
void pfs_name_chunks_end(PfsNameChunkScan *scan);

/* Calls a function for each chunk that the active snapshot sees. */
typedef void (*PfsNameChunkFn)(const PfsNameChunk *chunk, void *argument);
void pfs_name_chunks_each(const PfsNameTable *names, PfsNameChunkFn function, void *argument);

#endif
