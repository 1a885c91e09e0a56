/*
 * compact_in_steps.h
 *		Compaction of a table in many transactions, with VACUUM between them.
 */
#ifndef PFS_COMPACT_IN_STEPS_H
#define PFS_COMPACT_IN_STEPS_H

#include "profstore.h"

/*
 * Compacts a table, one step per transaction. After each step it vacuums the directory, so that the
 * next step reuses the space; it vacuums the table if streams can move towards the beginning of its
 * file. Runs in a background worker, outside a transaction, with a CurrentMemoryContext that
 * outlives transactions. Errors are raised with a transaction open. Returns false if there was no
 * step, so that the directory was not vacuumed.
 */
bool pfs_compact_in_steps(Oid table_id, uint32 open_inputs);

/*
 * Vacuums those tables of the directory that need it. Runs as pfs_compact_in_steps() does, outside
 * a transaction of a background worker.
 */
void pfs_vacuum_directory(void);

#endif
