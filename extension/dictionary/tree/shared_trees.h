/*
 * shared_trees.h
 *		Trees in shared memory (shared_area.h); internal to the room. A session finds here a tree
 *		that another session has read from stack_chunks.
 *
 * A shared tree has committed nodes only. It is stored with its horizon, and with the shape of all
 * its nodes once a session has made that shape. A session that borrows the tree continues reading
 * chunks from its horizon, and uses its arrays in place. Before the session adds to an array, it
 * makes a copy of its own (tree_own_nodes()).
 */
#ifndef PFS_SHARED_TREES_H
#define PFS_SHARED_TREES_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Replaces an empty tree by the tree that sessions share, if there is a shared tree with the epoch
 * of this session's caches.
 */
void pfs_shared_tree_borrow(PfsTreeCache *cache);

/* Gives back the borrowed tree, if there is one. Its arrays must not be read afterwards. */
void pfs_shared_tree_release(PfsTreeCache *cache);

/*
 * Offers a settled tree if it is clearly larger than the shared one and than the one that the
 * session last offered or borrowed, or if it has a shape that the shared one lacks. Returns true if
 * it was stored.
 */
bool pfs_shared_tree_offer(PfsTreeCache *cache);

/* Returns true if the shared tree has as many nodes and shapes as this one. */
bool pfs_shared_tree_is_there(const PfsTreeCache *cache);

#endif
