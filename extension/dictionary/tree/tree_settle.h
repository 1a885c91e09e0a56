/*
 * tree_settle.h
 *		Puts nodes that were appended where their ids belong; internal to the room.
 */
#ifndef PFS_TREE_SETTLE_H
#define PFS_TREE_SETTLE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Sorts nodes first .. node_count, the last ones appended, in between the others. Returns the
 * smallest index that moved and the new index of each from there on (*moved_to, in
 * CurrentMemoryContext), or NULL there if none did.
 */
uint32 pfs_tree_settle(PfsTreeCache *cache, uint32 first, uint32 **moved_to);

#endif
