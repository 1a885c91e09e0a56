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
 * Merges chunks of up to max_partitions partitions in the caller's transaction, which must be READ
 * COMMITTED. Returns how many chunks were merged: 0 if none are worth it, or another transaction
 * maintains the dictionary.
 */
int64 pfs_chunks_merge(uint32 max_partitions);

#endif
