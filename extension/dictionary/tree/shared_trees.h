/*
 * shared_trees.h
 *		Trees in shared memory (shared_area.h): what one session has read of stack_chunks, others
 *		read there; internal to the room.
 *
 * A shared tree held committed nodes only. It comes with its horizon, and the shape of all its
 * nodes as soon as a session has made that. Who borrows it goes on from its horizon, as if it had
 * read the chunks itself, and reads its arrays where they are; what it adds to is its own from then
 * on (pfs_tree_own_nodes).
 */
#ifndef PFS_SHARED_TREES_H
#define PFS_SHARED_TREES_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* Lets an empty tree be the shared one, if there is one under the epoch that the caches are of. */
void pfs_shared_tree_borrow(PfsTreeCache *cache);

/* Gives back what was borrowed, if anything: its arrays are not looked at any more. */
void pfs_shared_tree_release(PfsTreeCache *cache);

/*
 * Puts in a settled tree, if it is well larger than what the session offered or borrowed last, and
 * than what is there, or has a shape that this lacks. Whether it did.
 */
bool pfs_shared_tree_offer(PfsTreeCache *cache);

/* Whether there is one that tells as much as the tree. */
bool pfs_shared_tree_is_there(const PfsTreeCache *cache);

#endif
