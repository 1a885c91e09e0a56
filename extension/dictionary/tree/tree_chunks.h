/*
 * tree_chunks.h
 *		A tree and its rows in profstore.stack_chunks; internal to the room.
 *
 * Errors leave a tree in between: who calls has marked it as changing, and drops it.
 */
#ifndef PFS_TREE_CHUNKS_H
#define PFS_TREE_CHUNKS_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Adds what the active snapshot sees and the tree has not; indexes may change. Sets own where it is
 * the transaction's. Raises DATA_CORRUPTED for damaged chunks.
 */
void pfs_tree_load(PfsTreeCache *cache);

/* Stores the nodes first .. node_count, which were appended, as chunks, and settles them. */
void pfs_tree_store(PfsTreeCache *cache, uint32 first);

#endif
