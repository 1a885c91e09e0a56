/*
 * kept_chunks.h
 *		What filters of stacks let pass of chunks of segments, for a session's next query with them.
 *
 * Within a bound of memory: what the query before had no use for makes room.
 */
#ifndef PFS_KEPT_CHUNKS_H
#define PFS_KEPT_CHUNKS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "store/scan/kept_chunk.h"

typedef struct PfsKeptChunks PfsKeptChunks;

/* It and what it holds lie in the context. */
PfsKeptChunks *pfs_kept_chunks_create(MemoryContext context);

/* A query begins: what it does not ask for may go until the next one. */
void pfs_kept_chunks_begin(PfsKeptChunks *chunks);

/* NULL: there is none. It stays until the query ends. */
const PfsKeptChunk *pfs_kept_chunks_find(PfsKeptChunks *chunks, const PfsChunkKey *key);

/* Keeps a copy, in place of the one that there is, where most_bytes have room for it. */
void pfs_kept_chunks_put(PfsKeptChunks *chunks, const PfsKeptChunk *chunk, Size most_bytes);

/* The rows that those stand for which lie in a range, or begin in it. */
uint64 pfs_kept_chunks_source_rows(const PfsKeptChunks *chunks, TimestampTz from, TimestampTz to);

/*
 * All of them side by side, or those alone that were put in after others came here in this way; as
 * many as fit. Returns the bytes. The room is aligned.
 */
Size pfs_kept_chunks_bytes(const PfsKeptChunks *chunks);
Size pfs_kept_chunks_write(const PfsKeptChunks *chunks, bool new_ones, char *to, Size room);
void pfs_kept_chunks_read(PfsKeptChunks *chunks, const char *from, Size bytes, Size most_bytes);

#endif
