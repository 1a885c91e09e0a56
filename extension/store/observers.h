/*
 * observers.h
 *		Queries of this transaction that are still running, as far as they could tell inserted rows
 *		apart.
 *
 * Rows that wait in memory may become one segment, under one command id, only if no snapshot that
 * can still begin a scan lies between the commands that inserted them. Such snapshots belong to
 * queries in progress: cursors, and the callers of functions. A query that began before the first
 * waiting row sees none of them either way, so only those that begin later are noted.
 */
#ifndef PFS_OBSERVERS_H
#define PFS_OBSERVERS_H

#include "profstore.h"

#include "executor/execdesc.h"

void pfs_observers_add(const QueryDesc *query);
void pfs_observers_remove(const QueryDesc *query); /* ignores one that was not added */
void pfs_observers_clear(void);					   /* the transaction has ended */

/* Whether a noted query sees rows of the command min but not those of the later command max. */
bool pfs_observers_between(CommandId min, CommandId max);

#endif
