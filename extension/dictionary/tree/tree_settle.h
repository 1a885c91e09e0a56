/*
 * tree_settle.h
 *		Moves appended nodes to where their ids belong; internal to the room.
 */
#ifndef PFS_TREE_SETTLE_H
#define PFS_TREE_SETTLE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Sorts nodes first .. node_count, the last ones appended, into the others. Returns the smallest
 * index that moved. *moved_to, in CurrentMemoryContext, is the new index of each node from there
 * on, or NULL if none moved.
 */
uint32 pfs_tree_settle(PfsTreeCache *cache, uint32 first, uint32 **moved_to);

#endif
