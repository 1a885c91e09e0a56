/*
 * cache.h
 *		Lifecycle of the dictionary's caches in this backend; internal to the room.
 *
 * Each part of the cache registers its callbacks. All memory of the parts is below one context,
 * which is emptied when ids may have changed their meaning: when the epoch has changed, or the
 * extension was created again. Only pfs_dictionary_begin() tests for that.
 */
#ifndef PFS_DICTIONARY_CACHE_H
#define PFS_DICTIONARY_CACHE_H

#include "profstore.h"

#include "dictionary/cache/epoch.h"

/*
 * A part of the cache. Callbacks that a part does not need are NULL. abort and commit run in
 * transaction callbacks, so they must not raise errors or read tables.
 */
typedef struct PfsCachePart
{
	/* a call begins: drop stale entries, and shrink to the limit */
	void (*begin)(bool names_changed);
	void (*forget)(void); /* drop everything; the parts' context is emptied next */
	void (*abort)(void);  /* a (sub)transaction aborts: drop rows that it may have stored */
	void (*commit)(void); /* rows of the transaction are committed: treat them like any other */
	struct PfsCachePart *next;
} PfsCachePart;

/* Adds a part when the module is loaded. Parts are called in the order of registration. */
void pfs_cache_register(PfsCachePart *part);

/* Defines the setting and registers the transaction callbacks. */
void pfs_cache_init(void);

/* Returns the parent context of all cached memory; created on first use. */
MemoryContext pfs_cache_context(void);

/* Returns profstore.dictionary_cache_size in bytes. */
Size pfs_cache_bytes(void);

/* Returns the epoch under which the caches were filled. */
const PfsEpoch *pfs_cache_epoch(void);
Oid pfs_cache_made_for(void);

#endif
