/*
 * chunk_rows.h
 *		Rows of profstore.stack_chunks; internal to the room.
 *
 * A row's xid is that of the youngest transaction that added a node in it. Compaction merges only
 * rows of transactions that have ended for every snapshot that will see the merged row: in those
 * snapshots its xid lies before the horizon.
 */
#ifndef PFS_CHUNK_ROWS_H
#define PFS_CHUNK_ROWS_H

#include "profstore.h"

#include "access/htup.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "dictionary/tree/chunk.h"

/* Columns of profstore.stack_chunks. */
enum
{
	PFS_CHUNK_PARTITION_ID = 1,
	PFS_CHUNK_NODE_COUNT,
	PFS_CHUNK_FIRST_NODE,
	PFS_CHUNK_LAST_NODE,
	PFS_CHUNK_XID,
	PFS_CHUNK_PAYLOAD,
	PFS_CHUNK_COLUMNS = PFS_CHUNK_PAYLOAD
};

typedef struct PfsStoredChunk
{
	PfsChunkRow row;
	uint64 xid;
	Datum payload; /* points into the tuple */
} PfsStoredChunk;

/*
 * Returns the horizon of a snapshot: of each transaction before it, the snapshot sees either all
 * chunks or none, and later snapshots see the same.
 */
uint64 pfs_chunk_horizon(Snapshot snapshot);

void pfs_stored_chunk_read(HeapTuple tuple, TupleDesc descriptor, PfsStoredChunk *chunk);

/* Like pfs_chunk_decode(), but makes room in nodes if they hold fewer than the chunk. */
void pfs_stored_chunk_decode(const PfsStoredChunk *chunk, PfsChunkNodes *nodes);

/* Inserts a row. The table is open with RowExclusiveLock. */
void pfs_stored_chunk_insert(Relation table, int32 partition_id, uint64 xid,
							 const PfsChunkNodes *nodes);

#endif
