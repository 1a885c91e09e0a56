/*
 * shared_trees.h
 *		Trees in shared memory, where the module is preloaded: what one session has read of
 *		stack_chunks, others copy; internal to the room.
 *
 * An entry is a copy of a tree that held committed nodes only, with its horizon and the epoch that
 * it was read under. It never changes: a session that has read more offers a larger one in its
 * place. Who copies an entry goes on from its horizon, as if it had read the chunks itself.
 * Entries that were not used for long make room for others.
 *
 * Locks: one LWLock, shared while an entry is copied, exclusive while one is put in or taken out.
 * No errors are raised but OUT_OF_MEMORY, and nothing is waited for but the lock.
 */
#ifndef PFS_SHARED_TREES_H
#define PFS_SHARED_TREES_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* The setting profstore.shared_cache_size, and the memory if the module is being preloaded. */
void pfs_shared_trees_init(void);

/* Fills an empty tree, if there is an entry for it under the epoch that the caches are of. */
void pfs_shared_tree_copy(PfsTreeCache *cache);

/*
 * Puts in a settled tree, if it is well larger than what the session offered or copied last, and
 * than the entry.
 */
void pfs_shared_tree_offer(PfsTreeCache *cache);

#endif
