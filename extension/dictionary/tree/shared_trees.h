/*
 * shared_trees.h
 *		Trees in shared memory (shared_area.h): sessions share what one has read from
 *		stack_chunks; internal to the room.
 *
 * A shared tree has committed nodes only. It comes with its horizon, and with the shape of all its
 * nodes once a session has made that. A session that borrows it continues from its horizon, as if
 * it had read the chunks itself, and reads its arrays in place. Arrays that it adds to become its
 * own first (tree_own_nodes()).
 */
#ifndef PFS_SHARED_TREES_H
#define PFS_SHARED_TREES_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* Makes an empty tree the shared one, if there is one under the epoch of the caches. */
void pfs_shared_tree_borrow(PfsTreeCache *cache);

/* Returns the borrowed tree, if any. Its arrays must not be read afterwards. */
void pfs_shared_tree_release(PfsTreeCache *cache);

/*
 * Offers a settled tree, if it is clearly larger than the one the session last offered or borrowed
 * and than the shared one, or has a shape that this lacks. Returns true if it was put in.
 */
bool pfs_shared_tree_offer(PfsTreeCache *cache);

/* Returns true if the shared tree has as many nodes and shapes as this one. */
bool pfs_shared_tree_is_there(const PfsTreeCache *cache);

#endif
