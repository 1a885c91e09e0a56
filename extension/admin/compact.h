/*
 * compact.h
 *		Compaction of a table by its id, for the SQL function and the background worker.
 */
#ifndef PFS_COMPACT_H
#define PFS_COMPACT_H

#include "profstore.h"

#include "nodes/pg_list.h"

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

/* Whoever asks for compaction wants all done that can be. */
#define PFS_LEAST_OPEN_INPUTS 2

/*
 * Raises an error unless the caller owns the relation, and it is partitioned or a table of ours.
 * Looks in the catalog alone: opening the table could wait for a lock.
 */
void pfs_check_compactable(Oid relation_id);

/* A table, or those partitions of one that hold rows, in CurrentMemoryContext. */
List *pfs_compactable_tables(Oid relation_id);

/*
 * The same for these, and for chunks of the stack tree where it is "samples"; returns how many
 * segments it merged. What is locked is skipped with a NOTICE.
 */
int64 pfs_compact_all(Oid relation_id, int64 max_segments);

/*
 * Raises an error in a transaction in which segments cannot be replaced or taken out: one that may
 * not write; one with a snapshot for all its statements, which would miss rows committed since; and
 * a VACUUM's, of which other snapshots take no notice. The function's name, with (), is for the
 * message.
 */
void pfs_check_maintenance_transaction(const char *function);

#endif
