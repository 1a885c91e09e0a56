/*
 * observers.h
 *		Running queries of this transaction that could see some of the rows waiting in memory
 *		and not others.
 *
 * Rows that wait in memory may become one segment, under one command id, only if no snapshot that
 * can still begin a scan lies between the commands that inserted them. Such snapshots belong to
 * queries in progress: cursors, and the callers of functions. A query that began before the first
 * waiting row sees none of them in either case, so only queries that begin later are recorded.
 *
 * Not every snapshot belongs to a query. PL/pgSQL evaluates an expression without one, and a STABLE
 * function in the expression reads tables with the expression's snapshot, perhaps after a VOLATILE
 * function beside it has filled a segment. Such snapshots cannot be listed. So spans of commands
 * whose rows were written together are recorded, too, and a scan with a snapshot inside a span,
 * which would miss some of its rows, raises an error.
 */
#ifndef PFS_OBSERVERS_H
#define PFS_OBSERVERS_H

#include "profstore.h"

#include "executor/execdesc.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

void pfs_observers_add(const QueryDesc *query);
void pfs_observers_remove(const QueryDesc *query); /* ignores a query that was not added */
void pfs_observers_clear(void);					   /* call it when the transaction has ended */

/*
 * Records that rows of the commands min to max, which differ, became segments before the
 * transaction's end.
 */
void pfs_observers_note_merged(int64 storage_id, CommandId min, CommandId max);
/* Raises an error if the snapshot sees some of the rows of a recorded span, but not all. */
void pfs_observers_check(Relation relation, int64 storage_id, Snapshot snapshot);

/*
 * Returns true if a recorded query sees rows of command min but not those of the later command max.
 */
bool pfs_observers_between(CommandId min, CommandId max);

#endif
