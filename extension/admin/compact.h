/*
 * compact.h
 *		Compaction of a table by its id, for the SQL function and the background worker.
 */
#ifndef PFS_COMPACT_H
#define PFS_COMPACT_H

#include "profstore.h"

/* What more there is to do to a table. */
typedef enum PfsCompactionState
{
	PFS_TABLE_DONE,			 /* nothing, or it is locked */
	PFS_TABLE_AWAITS_VACUUM, /* VACUUM, which would make its files shorter */
	PFS_TABLE_PROGRESSED	 /* perhaps another step */
} PfsCompactionState;

/*
 * Merges what can be merged of a table, in the current transaction, up to max_segments and in
 * max_steps merges. Takes ShareUpdateExclusiveLock until the transaction ends; where that is not to
 * be had at once it tells so in a NOTICE and does nothing, as where the table has gone or is none
 * of ours. Adds the number of segments merged to *merged.
 */
PfsCompactionState pfs_compact_table(Oid relation_id, uint32 open_inputs, int64 max_segments,
									 uint32 max_steps, int64 *merged);

/*
 * Raises an error in a transaction in which segments cannot be replaced or taken out: one that may
 * not write; one with a snapshot for all its statements, which would miss rows committed since; and
 * a VACUUM's, of which other snapshots take no notice. The function's name, with (), is for the
 * message.
 */
void pfs_check_maintenance_transaction(const char *function);

#endif
