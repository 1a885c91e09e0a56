/*
 * chunk.h
 *		Packs nodes of the stack tree into bytes, and unpacks them; chunk_format.h describes the
 *		bytes.
 */
#ifndef PFS_CHUNK_H
#define PFS_CHUNK_H

#include "profstore.h"

/* Nodes in ascending order of their numbers. A zeroed struct is empty. */
typedef struct PfsChunkNodes
{
	uint32 node_count;
	uint32 capacity;   /* number of elements of each array */
	int64 *numbers;	   /* node numbers, without the partition */
	uint32 *distances; /* number of nodes back to the parent; 0 if the parent is not among these */
	int64 *parents;	   /* node number of the parent, 0 for the root */
	int32 *locations;
} PfsChunkNodes;

/* Columns of the row beside the payload, with which the payload must agree. */
typedef struct PfsChunkRow
{
	int32 partition_id;
	int32 node_count;
	int64 first_node;
	int64 last_node;
} PfsChunkRow;

/*
 * Makes room for capacity nodes, in CurrentMemoryContext if there is not enough. The nodes are lost
 * then.
 */
void pfs_chunk_nodes_reserve(PfsChunkNodes *nodes, uint32 capacity);

/* Packs 1 .. PFS_CHUNK_MAX_NODES nodes into a payload in CurrentMemoryContext. */
bytea *pfs_chunk_encode(const PfsChunkNodes *nodes);

/*
 * Unpacks a detoasted payload into nodes, which have room for at least row->node_count
 * (PFS_CHUNK_MAX_NODES suffice for any). Raises DATA_CORRUPTED if the bytes are damaged, and
 * FEATURE_NOT_SUPPORTED for a newer format.
 */
void pfs_chunk_decode(const PfsChunkRow *row, const struct varlena *payload, PfsChunkNodes *nodes);

#endif
