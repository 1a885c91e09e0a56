/*
 * compact_in_steps.h
 *		Compaction of a table in many transactions, which gives room back on the way.
 */
#ifndef PFS_COMPACT_IN_STEPS_H
#define PFS_COMPACT_IN_STEPS_H

#include "profstore.h"

/*
 * Merges what can be merged of a table, a step in a transaction. After each, what it has left in
 * the directory is vacuumed, so that the next one takes that room; the table is vacuumed where
 * streams can move to its front. Runs in a background worker outside of a transaction, whose
 * CurrentMemoryContext outlives one. Errors are raised, with a transaction open. False where there
 * was no step, so that nothing was vacuumed in the directory.
 */
bool pfs_compact_in_steps(Oid table_id, uint32 open_inputs);

/* VACUUM of the directory, where there may be something for it; within the same circumstances. */
void pfs_vacuum_directory(void);

#endif
