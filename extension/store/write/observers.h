/*
 * observers.h
 *		Queries of this transaction that are still running, as far as they could tell inserted rows
 *		apart.
 *
 * Rows that wait in memory may become one segment, under one command id, only if no snapshot that
 * can still begin a scan lies between the commands that inserted them. Such snapshots belong to
 * queries in progress: cursors, and the callers of functions. A query that began before the first
 * waiting row sees none of them either way, so only those that begin later are noted.
 *
 * Not every snapshot belongs to a query: PL/pgSQL evaluates an expression without one, and a STABLE
 * function in it looks at tables by the expression's snapshot, after a VOLATILE one beside it may
 * have filled a segment. Nobody can list such snapshots. So what was written together is noted,
 * too, and a scan by a snapshot from between its commands, which would miss some of the rows, is an
 * error.
 */
#ifndef PFS_OBSERVERS_H
#define PFS_OBSERVERS_H

#include "profstore.h"

#include "executor/execdesc.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

void pfs_observers_add(const QueryDesc *query);
void pfs_observers_remove(const QueryDesc *query); /* ignores one that was not added */
void pfs_observers_clear(void);					   /* the transaction has ended */

/* Rows of commands from min to max, which differ, became segments before the transaction's end. */
void pfs_observers_note_merged(int64 storage_id, CommandId min, CommandId max);
/* Raises an error where the snapshot sees some of such rows, and not others. */
void pfs_observers_check(Relation relation, int64 storage_id, Snapshot snapshot);

/* Whether a noted query sees rows of the command min but not those of the later command max. */
bool pfs_observers_between(CommandId min, CommandId max);

#endif
