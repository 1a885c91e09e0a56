/*
 * chunk_merge.h
 *		Compaction of the stack tree: many small chunks of a dictionary partition become one.
 *
 * Every interning transaction with something new stores a chunk of its own. Rows are merged as
 * heap rows are replaced: older snapshots go on reading the old ones.
 */
#ifndef PFS_CHUNK_MERGE_H
#define PFS_CHUNK_MERGE_H

#include "profstore.h"

/*
 * Takes SHARE UPDATE EXCLUSIVE on profstore.dictionary_partitions until the transaction ends:
 * whoever moves or removes rows of the dictionary holds it. False where another transaction does;
 * nobody waits for it.
 */
bool pfs_dictionary_begin_upkeep(void);

/*
 * Merges chunks of up to that many partitions, in the caller's transaction, which is READ
 * COMMITTED. Returns how many chunks were merged: 0 where there is nothing worth it, or another
 * transaction is at it.
 */
int64 pfs_chunks_merge(uint32 max_partitions);

#endif
