/*
 * ledger.h
 *		profstore.row_ledger: how many rows each table should have.
 *
 * Code that stores or removes rows adds an entry with their number. A merge must neither lose nor
 * duplicate rows, so it adds nothing. Under every snapshot, the entries of a table add up to the
 * rows of its segments. If they do not, segments are missing, or two segments hold the same rows.
 * Only verify() reads the ledger.
 */
#ifndef PFS_LEDGER_H
#define PFS_LEDGER_H

#include "profstore.h"

#include "utils/snapshot.h"

/*
 * Records that row_count rows were stored, or, if it is negative, removed. command_id is that of
 * the directory rows of their segments.
 */
void pfs_ledger_add(int64 storage_id, int64 row_count, CommandId command_id);

/*
 * Replaces the entries that the snapshot sees by their sum, if there are many. The caller holds
 * ShareUpdateExclusiveLock on the table, taken before the snapshot.
 */
void pfs_ledger_fold(int64 storage_id, Snapshot snapshot);

/* Returns the sum of the entries that the snapshot sees. */
int64 pfs_ledger_total(int64 storage_id, Snapshot snapshot);

/*
 * Deletes all entries of a storage, whichever transaction wrote them, if the ledger exists. The
 * caller holds AccessExclusiveLock on its table.
 */
void pfs_ledger_delete(int64 storage_id);

#endif
