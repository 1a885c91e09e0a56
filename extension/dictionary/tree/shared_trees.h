/*
 * shared_trees.h
 *		Trees in shared memory, where the module is preloaded: what one session has read of
 *		stack_chunks, others read there; internal to the room.
 *
 * An entry is a copy of a tree that held committed nodes only, with its horizon, the epoch that it
 * was read under, and the shape of all its nodes as soon as a session has made that. It never
 * changes: a session that has read more offers a larger one in its place. Who borrows an entry goes
 * on from its horizon, as if it had read the chunks itself, and reads its arrays where they are;
 * what it adds to is its own from then on (pfs_tree_own_nodes). Memory that is borrowed goes with
 * the last who has. Entries that were not used for long make room for others.
 *
 * Locks: one LWLock, shared while an entry is looked for, exclusive while one is put in, taken out
 * or given back. No errors are raised but OUT_OF_MEMORY, and nothing is waited for but the lock.
 */
#ifndef PFS_SHARED_TREES_H
#define PFS_SHARED_TREES_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* The setting profstore.shared_cache_size, and the memory if the module is being preloaded. */
void pfs_shared_trees_init(void);

/* Lets an empty tree be an entry, if there is one for it under the epoch that the caches are of. */
void pfs_shared_tree_borrow(PfsTreeCache *cache);

/* Gives back what was borrowed, if anything: its arrays are not looked at any more. */
void pfs_shared_tree_release(PfsTreeCache *cache);

/*
 * Puts in a settled tree, if it is well larger than what the session offered or borrowed last, and
 * than the entry, or has a shape that the entry lacks. Whether it did.
 */
bool pfs_shared_tree_offer(PfsTreeCache *cache);

/* Whether there is an entry that tells as much as the tree. */
bool pfs_shared_tree_is_there(const PfsTreeCache *cache);

#endif
