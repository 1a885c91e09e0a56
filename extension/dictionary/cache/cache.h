/*
 * cache.h
 *		Lifecycle of the dictionary's caches in this backend; internal to the room.
 *
 * Each part of the cache registers what is to be done with it. All memory of the parts hangs under
 * one context, which is emptied when ids may mean something else: when the epoch moved, or the
 * extension was made anew. That is looked at in pfs_dictionary_begin alone.
 */
#ifndef PFS_DICTIONARY_CACHE_H
#define PFS_DICTIONARY_CACHE_H

#include "profstore.h"

#include "dictionary/cache/epoch.h"

/*
 * A part of the cache; functions that it does not need are NULL. The last two run in transaction
 * callbacks: they raise no error and read no table.
 */
typedef struct PfsCachePart
{
	void (*begin)(bool names_changed); /* a call begins: what is stale or too large may go */
	void (*forget)(void);			   /* all goes; the parts' context is emptied next */
	void (*abort)(void);  /* a (sub)transaction aborts: rows that it may have stored go */
	void (*commit)(void); /* its rows are like any other now */
	struct PfsCachePart *next;
} PfsCachePart;

/* Adds a part when the module is loaded; parts are called in the order in which they came. */
void pfs_cache_register(PfsCachePart *part);

/* The setting and the transaction callbacks. */
void pfs_cache_init(void);

/* Parent of all cached memory; made on first use. */
MemoryContext pfs_cache_context(void);

/* profstore.dictionary_cache_size in bytes. */
Size pfs_cache_bytes(void);

/* What the caches were filled under; OID of profstore.epoch, invalid where they are void. */
const PfsEpoch *pfs_cache_epoch(void);
Oid pfs_cache_made_for(void);

#endif
