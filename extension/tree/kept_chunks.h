/*
 * kept_chunks.h
 *		Per-session cache of filtered sums by segment chunk, within a memory limit. Chunks that
 *		the previous query did not use make room for new ones.
 */
#ifndef PFS_KEPT_CHUNKS_H
#define PFS_KEPT_CHUNKS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "store/scan/kept_chunk.h"

typedef struct PfsKeptChunks PfsKeptChunks;

/* Creates a cache in the context. */
PfsKeptChunks *pfs_kept_chunks_create(MemoryContext context);

/* Begins a query: chunks that it does not use may be freed by a later one. */
void pfs_kept_chunks_begin(PfsKeptChunks *chunks);

/* Finds a chunk, which is valid until the query ends; NULL if there is none. */
const PfsKeptChunk *pfs_kept_chunks_find(PfsKeptChunks *chunks, const PfsChunkKey *key);

/* Copies a chunk into the cache if it fits in most_bytes. It replaces a chunk of an equal key. */
void pfs_kept_chunks_put(PfsKeptChunks *chunks, const PfsKeptChunk *chunk, Size most_bytes);

/* Returns the number of source rows of the kept chunks that lie or begin in a range of time. */
uint64 pfs_kept_chunks_source_rows(const PfsKeptChunks *chunks, TimestampTz from, TimestampTz to);

/*
 * pfs_kept_chunks_write() writes as many chunks as fit in room, one after another: all, or only
 * those that this process made. pfs_kept_chunks_read() reads them. pfs_kept_chunks_bytes() returns
 * the bytes of all chunks. The memory is aligned.
 */
Size pfs_kept_chunks_bytes(const PfsKeptChunks *chunks);
Size pfs_kept_chunks_write(const PfsKeptChunks *chunks, bool new_ones, char *to, Size room);
void pfs_kept_chunks_read(PfsKeptChunks *chunks, const char *from, Size bytes, Size most_bytes);

#endif
