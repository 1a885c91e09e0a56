/*
 * tree_chunks.h
 *		Reads and writes a tree's rows in profstore.stack_chunks; internal to the room.
 *
 * An error leaves a tree incomplete: the caller has marked it as changing, and drops it.
 */
#ifndef PFS_TREE_CHUNKS_H
#define PFS_TREE_CHUNKS_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Adds the nodes that the active snapshot sees and the tree lacks; indexes may change. Sets own if
 * some are of this transaction. Raises DATA_CORRUPTED for damaged chunks.
 */
void pfs_tree_load(PfsTreeCache *cache);

/* Stores the appended nodes first .. node_count as chunks, and settles them. */
void pfs_tree_store(PfsTreeCache *cache, uint32 first);

#endif
