/*
 * compact.h
 *		Compaction of a table by its OID, for the SQL function and the background worker.
 */
#ifndef PFS_COMPACT_H
#define PFS_COMPACT_H

#include "profstore.h"

#include "nodes/pg_list.h"

/* Work that is left for a table. */
typedef enum PfsCompactionState
{
	PFS_TABLE_DONE,			 /* no work is left, or the table is locked */
	PFS_TABLE_AWAITS_VACUUM, /* only a VACUUM is left, which could shorten the table's files */
	PFS_TABLE_PROGRESSED	 /* a step was done; another may be possible */
} PfsCompactionState;

/*
 * Compacts a table in the current transaction, by at most max_steps merges of at most max_segments
 * segments in all. Takes ShareUpdateExclusiveLock until the transaction ends. If the lock is not
 * available at once, the table no longer exists, or it is not a table of access method profstore,
 * raises a NOTICE and does nothing. Adds the number of merged segments to *merged.
 */
PfsCompactionState pfs_compact_table(Oid relation_id, uint32 open_inputs, int64 max_segments,
									 uint32 max_steps, int64 *merged);

/*
 * An explicit call of compact() merges an open bucket only if it has at least this many segments.
 */
#define PFS_LEAST_OPEN_INPUTS 2

/*
 * Raises an error unless the caller owns the relation, and it is a partitioned table or a table of
 * access method profstore. Reads only the catalog, since opening the table could wait for a lock.
 */
void pfs_check_compactable(Oid relation_id);

/*
 * Returns the OIDs of the table itself, or of those partitions of a partitioned table that hold
 * rows. The list is in CurrentMemoryContext.
 */
List *pfs_compactable_tables(Oid relation_id);

/*
 * Compacts all tables of pfs_compactable_tables() and, if the relation is "samples", the chunks of
 * the stack tree. Locked tables are skipped with a NOTICE. Returns the number of merged segments.
 */
int64 pfs_compact_all(Oid relation_id, int64 max_segments);

/*
 * Raises an error if segments cannot be replaced or removed in the current transaction: the
 * transaction is read-only, or it has one snapshot for all its statements and would miss rows that
 * other transactions commit meanwhile, or it is a VACUUM's, which other snapshots ignore. The
 * message names the function, given with its ().
 */
void pfs_check_maintenance_transaction(const char *function);

#endif
