/*
 * epoch.h
 *		The row of profstore.epoch, and pins; internal to the room. A pin keeps all ids valid
 *		until the transaction that took it ends.
 *
 * A pin is a ROW SHARE lock on the object (profstore.epoch, ids), held until the transaction ends,
 * also by a prepared one. No lock conflicts with it, so nobody waits for it: collect_dictionary()
 * searches pg_locks for pins of epochs before its own, and changes nothing while there are any.
 */
#ifndef PFS_EPOCH_H
#define PFS_EPOCH_H

#include "profstore.h"

#include "utils/snapshot.h"

typedef struct PfsEpoch
{
	int64 ids;
	int64 names;
	int64 removals;
	bool own; /* written by the transaction that reads it */
} PfsEpoch;

/* Returns the row as a snapshot sees it. Raises DATA_CORRUPTED if there is none. */
PfsEpoch pfs_epoch_read(Snapshot snapshot);

/*
 * Call before returning or accepting ids that the transaction may store: they stay valid until it
 * ends. Never waits.
 *
 * An active snapshot older than the present epoch does not show which ids are about to be
 * collected. In that case this raises OBJECT_NOT_IN_PREREQUISITE_STATE, or
 * T_R_SERIALIZATION_FAILURE under REPEATABLE READ and SERIALIZABLE.
 */
void pfs_epoch_pin(void);

/*
 * Locks the latest row of profstore.epoch until the transaction ends, as every function that
 * increments an epoch does. Returns false, without waiting, if another transaction has it locked.
 */
bool pfs_epoch_lock_or_skip(void);

/*
 * Call at the end of a transaction and when a subtransaction aborts: its locks have been released.
 */
void pfs_epoch_unpin(void);

#endif
