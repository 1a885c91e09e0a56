/*
 * cache.h
 *		Lifecycle of the dictionary's caches in this backend; internal to the room.
 *
 * All cached memory hangs under one memory context. It is dropped when the epoch moves and when the extension was
 * made anew, both only in pfs_dictionary_begin. Where it outgrows profstore.dictionary_cache_size, trees go one by
 * one, those first that were not used for the longest time, and at last the names.
 * At the abort of a (sub)transaction, trees and keys that hold rows of the transaction go at once.
 */
#ifndef PFS_DICTIONARY_CACHE_H
#define PFS_DICTIONARY_CACHE_H

#include "profstore.h"

#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "dictionary/epoch.h"

/* Parent of all cached memory; made on first use. */
MemoryContext pfs_cache_context(void);

/* What the caches were filled under; OID of profstore.epoch, invalid where they are void. */
const PfsEpoch *pfs_cache_epoch(void);
Oid pfs_cache_made_for(void);

/* Bytes that trees may take beside the names: what profstore.dictionary_cache_size leaves them. */
Size pfs_cache_tree_bytes(void);

/*
 * Parts of the cache. _forget frees all (its context is about to go); _abort drops what holds rows of the
 * transaction that aborts (or one of its subtransactions), _commit makes them rows like any other. These two run in
 * transaction callbacks: they raise no error and read no table.
 */
void pfs_trees_begin(void); /* a new call: shapes that the last one used may go */
void pfs_trees_forget(void);
void pfs_trees_evict(void); /* frees trees until they take no more than pfs_cache_tree_bytes */
void pfs_trees_abort(void);
void pfs_trees_commit(void);
void pfs_names_forget(void);
Size pfs_names_bytes(void);
bool pfs_names_are_doubtful(void); /* some stand in for rows that were not there */
void pfs_intern_forget(void);
void pfs_intern_abort(void);
void pfs_intern_commit(void);

#endif
