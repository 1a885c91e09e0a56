/*
 * ledger.h
 *		How many rows each table should have: profstore.row_ledger, beside the directory.
 *
 * Whoever stores or removes rows adds how many; a merge, which must neither lose nor double any,
 * adds nothing. So what the ledger adds up to is what the segments have, under every snapshot, and
 * where it is not, segments are missing or stand for rows that others stand for, too. Nothing but
 * verify reads it.
 */
#ifndef PFS_LEDGER_H
#define PFS_LEDGER_H

#include "profstore.h"

#include "utils/snapshot.h"

/* Rows were stored, or, less than 0, removed, under a command id as their segments'. */
void pfs_ledger_add(int64 storage_id, int64 row_count, CommandId command_id);

/*
 * Puts entries that the snapshot sees together, where there are many. The caller holds
 * ShareUpdateExclusiveLock on the table, taken before the snapshot.
 */
void pfs_ledger_fold(int64 storage_id, Snapshot snapshot);

/* What the entries that the snapshot sees add up to. */
int64 pfs_ledger_total(int64 storage_id, Snapshot snapshot);

/*
 * Deletes all of a storage, whoever wrote them, if there is a ledger; the caller holds
 * AccessExclusiveLock on its table.
 */
void pfs_ledger_delete(int64 storage_id);

#endif
