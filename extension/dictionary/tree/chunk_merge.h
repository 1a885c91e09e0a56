/*
 * chunk_merge.h
 *		Compaction of the stack tree: merges many small chunks of a dictionary partition into
 *		one.
 *
 * Every interning transaction with new nodes stores a chunk of its own. Rows are replaced as heap
 * rows are: older snapshots still read the old ones.
 */
#ifndef PFS_CHUNK_MERGE_H
#define PFS_CHUNK_MERGE_H

#include "profstore.h"

/*
 * Takes SHARE UPDATE EXCLUSIVE on profstore.dictionary_partitions until the transaction ends: all
 * code that moves or removes rows of the dictionary holds it. Returns false, without waiting, if
 * another transaction has it.
 */
bool pfs_dictionary_begin_upkeep(void);

/*
 * Merges chunks of up to max_partitions partitions in the caller's transaction, which must be READ
 * COMMITTED. Returns how many chunks were merged: 0 if none are worth it, or another transaction
 * maintains the dictionary.
 */
int64 pfs_chunks_merge(uint32 max_partitions);

#endif
