/*
 * session_cache.h
 *		Per-session cache of data about names between queries: symbols, and answers of filters
 *		about functions, mappings and locations.
 *
 * Entries are found by a key. They are dropped with the names they are about, whose memory they
 * share (dictionary.h); if there are too many, the least recently used one is dropped.
 */
#ifndef PFS_SESSION_CACHE_H
#define PFS_SESSION_CACHE_H

#include "profstore.h"

/*
 * Begins a query. Call it after pfs_dictionary_begin(), which may drop names. Entries returned from
 * now on stay until several more queries have begun, because queries may be nested in one
 * statement.
 */
void pfs_session_cache_begin(void);

/*
 * Returns the entry of a key, all zeros at first, and its own memory context. If too many entries
 * are in use, it is a new one in CurrentMemoryContext.
 */
void *pfs_session_cache_get(const char *key, Size bytes, MemoryContext *context);

/* Makes the next query that asks for the key start with a new entry. */
void pfs_session_cache_forget(const char *key);

#endif
