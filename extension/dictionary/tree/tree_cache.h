/*
 * tree_cache.h
 *		The trees that this backend has in memory; internal to the room. dictionary.h has the
 *		functions that read them.
 */
#ifndef PFS_TREE_CACHE_H
#define PFS_TREE_CACHE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* Rendezvous variable with the list of cached trees, by "use", for the tests' module. */
#define PFS_CACHED_TREES "profstore_cached_trees"

/* Registers the trees as a part of the caches. */
void pfs_trees_init(void);

/* Returns the cached tree of a partition, loaded if it is new, but not brought up to date. */
PfsTreeCache *pfs_tree_cached(int32 partition_id);

/* Adds nodes that other transactions have committed since the last read. Indexes may change. */
void pfs_tree_refresh(PfsTreeCache *cache);

/*
 * Between these two calls the caller may append nodes of its own transaction. The second call
 * stores nodes first .. node_count as chunks, and settles them. After an error in between, the tree
 * is read again.
 */
void pfs_tree_begin_append(PfsTreeCache *cache);
void pfs_tree_end_append(PfsTreeCache *cache, uint32 first);

#endif
