/*
 * session_cache.h
 *		What a session keeps about names from query to query.
 *
 * That is symbols, and what filters said of functions, mappings and locations.
 *
 * Things are found by a key. They go with the names that they are about, whose memory they share
 * (dictionary.h), and the one that was used longest ago goes where there are too many.
 */
#ifndef PFS_SESSION_CACHE_H
#define PFS_SESSION_CACHE_H

#include "profstore.h"

/*
 * Begins a query, after pfs_dictionary_begin, which may forget names. What it gets from now on
 * stays until several more queries have begun, since queries may run at once in one statement.
 */
void pfs_session_cache_begin(void);

/*
 * The thing of a key, all zeros at first, and the memory for what belongs to it, which is its own.
 * Where too many are in use, it is a new one in CurrentMemoryContext.
 */
void *pfs_session_cache_get(const char *key, Size bytes, MemoryContext *context);

/* Lets the next query that asks for a thing make a new one. */
void pfs_session_cache_forget(const char *key);

#endif
