/*
 * tree_cache.h
 *		The trees that this backend has in memory; internal to the room. Reading is in dictionary.h.
 */
#ifndef PFS_TREE_CACHE_H
#define PFS_TREE_CACHE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/* The rendezvous variable with the list of cached trees, by "use", for the tests' module. */
#define PFS_CACHED_TREES "profstore_cached_trees"

/* Registers the trees as a part of the caches. */
void pfs_trees_init(void);

/* The cached tree of a partition, loaded if it was not yet, but not brought up to date. */
PfsTreeCache *pfs_tree_cached(int32 partition_id);

/* Adds what other transactions have committed since; indexes may change. */
void pfs_tree_refresh(PfsTreeCache *cache);

/*
 * Between these two the caller may append nodes of its own transaction; the second stores nodes
 * first .. node_count as chunks and settles them. An error in between costs no more than reading
 * the tree again.
 */
void pfs_tree_begin_append(PfsTreeCache *cache);
void pfs_tree_end_append(PfsTreeCache *cache, uint32 first);

#endif
