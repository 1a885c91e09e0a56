/*
 * epoch.h
 *		The row of profstore.epoch, and pins: promises that no id goes while a transaction uses it;
 *		internal to the room.
 *
 * A pin is a lock in mode ROW SHARE on the object (profstore.epoch, ids), held until the
 * transaction ends, also by a prepared one. Nothing conflicts with it, so it makes nobody wait:
 * collect_dictionary() looks into pg_locks for pins of epochs before its own, and leaves all as it
 * is while there are some.
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

/* The row as a snapshot sees it. Raises DATA_CORRUPTED where it is not there. */
PfsEpoch pfs_epoch_read(Snapshot snapshot);

/*
 * Call before ids are given out, or taken, that the transaction may store: they stay valid until
 * it ends. Waits for nobody.
 *
 * An active snapshot older than the present epoch cannot tell which ids are about to go. Then it
 * raises OBJECT_NOT_IN_PREREQUISITE_STATE, or T_R_SERIALIZATION_FAILURE under REPEATABLE READ and
 * SERIALIZABLE.
 */
void pfs_epoch_pin(void);

/*
 * Locks the latest row as who counts it up does, until the transaction ends; false, at once, where
 * another one has it locked.
 */
bool pfs_epoch_lock_or_skip(void);

/* At the end of a transaction, and where a subtransaction aborts: its locks are gone. */
void pfs_epoch_unpin(void);

#endif
