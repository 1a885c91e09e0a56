/*
 * name_chunks.h
 *		Rows of function_chunks and location_chunks; internal to the room.
 *
 * Chunk n holds rows with ids n * 256 .. n * 256 + 255. Its bitmap marks the ids that exist: bit i
 * % 8 of byte i / 8 stands for id n * 256 + i.
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

/* A stored chunk. */
typedef struct PfsNameChunk
{
	int32 number;
	uint8 present[PFS_NAME_BITMAP_BYTES];
	uint32 count;  /* number of ids in it */
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

/*
 * Fills in a chunk from the columns of a row. Raises DATA_CORRUPTED if number or bitmap is invalid.
 */
void pfs_name_chunk_make(const PfsNameTable *names, int32 number, Datum present, Datum payload,
						 PfsNameChunk *chunk);

/* Like pfs_name_chunk_make(), but from a row of the table. */
void pfs_name_chunk_read(const PfsNameTable *names, HeapTuple tuple, TupleDesc descriptor,
						 PfsNameChunk *chunk);

/*
 * Unpacks a chunk into rows, in UTF-8, by id; rows[] has room for PFS_NAME_CHUNK_ROWS. The rows
 * point into CurrentMemoryContext. Raises DATA_CORRUPTED, or FEATURE_NOT_SUPPORTED for a newer
 * format.
 */
void pfs_name_chunk_unpack(const PfsNameTable *names, const PfsNameChunk *chunk, PfsNameRow *rows);

/*
 * Like pfs_name_chunk_unpack(), but returns a message instead of raising an error; NULL if the
 * chunk is valid.
 */
const char *pfs_name_chunk_check(const PfsNameTable *names, const PfsNameChunk *chunk,
								 PfsNameRow *rows);

/*
 * Packs 1 .. PFS_NAME_CHUNK_ROWS rows of one chunk, in UTF-8 and by id, into the columns of its
 * row.
 */
void pfs_name_chunk_fill(const PfsNameTable *names, const PfsNameRow *rows, uint32 count,
						 Datum *values);

/* Begins a scan that finds chunks by their numbers, in any order. */
void pfs_name_chunks_begin(PfsNameScan *scan, const PfsNameTable *names, Snapshot snapshot,
						   LOCKMODE lock);

/*
 * Finds a chunk; returns false if there is none. The chunk, and *tid unless NULL, are valid until
 * the next call.
 */
bool pfs_name_chunks_find(PfsNameScan *scan, int32 number, PfsNameChunk *chunk, ItemPointer tid);

/* Calls a function for each chunk that the active snapshot sees. */
typedef void (*PfsNameChunkFn)(const PfsNameChunk *chunk, void *argument);
void pfs_name_chunks_each(const PfsNameTable *names, PfsNameChunkFn function, void *argument);

#endif
