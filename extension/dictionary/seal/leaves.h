/*
 * leaves.h
 *		Changes the leaves, the index of sealed rows by content (cache/name_hashes.h).
 */
#ifndef PFS_LEAVES_H
#define PFS_LEAVES_H

#include "profstore.h"

#include "dictionary/cache/name_hashes.h"

/* Digests whose items are ids. */
typedef struct PfsNameEntries
{
	PfsNameDigest *digests;
	uint32 count;
	uint32 capacity;
} PfsNameEntries;

/* Adds the entry of a row, in UTF-8. Memory comes from the context in which the first was added. */
void pfs_name_entries_add(PfsNameEntries *entries, const PfsNameTable *names, const uint8 *key,
						  const PfsNameRow *utf8);

/*
 * Adds some entries and removes others, which need not exist; sorts both lists. Each affected leaf
 * is written once. The caller must hold the lock on the row of the epoch.
 */
void pfs_name_leaves_change(const PfsNameTable *names, PfsNameEntries *added,
							PfsNameEntries *removed);

#endif
