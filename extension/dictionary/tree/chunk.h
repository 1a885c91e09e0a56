/*
 * chunk.h
 *		Packs nodes of the stack tree into bytes and back; the bytes are described in
 *		chunk_format.h.
 */
#ifndef PFS_CHUNK_H
#define PFS_CHUNK_H

#include "profstore.h"

/* Nodes in ascending order of their numbers; zeroed: none. */
typedef struct PfsChunkNodes
{
	uint32 node_count;
	uint32 capacity;   /* elements that each array has room for */
	int64 *numbers;	   /* node numbers, without the partition */
	uint32 *distances; /* nodes back to the parent, 0 where the parent is not among these */
	int64 *parents;	   /* node number of the parent, 0 for the root */
	int32 *locations;
} PfsChunkNodes;

/* What the row says beside the payload; decoding checks that the payload agrees. */
typedef struct PfsChunkRow
{
	int32 partition_id;
	int32 node_count;
	int64 first_node;
	int64 last_node;
} PfsChunkRow;

/*
 * Makes room for as many nodes, in CurrentMemoryContext where there is not enough; what was in
 * them is lost then.
 */
void pfs_chunk_nodes_reserve(PfsChunkNodes *nodes, uint32 capacity);

/* 1 .. PFS_CHUNK_MAX_NODES nodes as payload, in CurrentMemoryContext. */
bytea *pfs_chunk_encode(const PfsChunkNodes *nodes);

/*
 * Unpacks a detoasted payload into nodes, which have room for at least row->node_count
 * (PFS_CHUNK_MAX_NODES suffice for any). Raises DATA_CORRUPTED where the bytes are damaged, and
 * FEATURE_NOT_SUPPORTED for a newer format.
 */
void pfs_chunk_decode(const PfsChunkRow *row, const struct varlena *payload, PfsChunkNodes *nodes);

#endif
