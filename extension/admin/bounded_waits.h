/*
 * bounded_waits.h
 *		Bounded waits for locks, so that maintenance is not held up by an idle session.
 */
#ifndef PFS_BOUNDED_WAITS_H
#define PFS_BOUNDED_WAITS_H

#include "profstore.h"

#include "storage/lockdefs.h"

/* Longest wait of maintenance for a lock, also in the background worker. */
#define PFS_LONGEST_WAIT "10s"

/*
 * Between begin and end, a wait for a lock longer than PFS_LONGEST_WAIT raises LOCK_NOT_AVAILABLE;
 * a shorter lock_timeout of the session stays in force. pfs_bounded_waits_end() takes the level
 * that begin returned. An error ends the bound by itself.
 */
int pfs_bounded_waits_begin(void);
void pfs_bounded_waits_end(int level);

/*
 * Takes a lock on which readers or writers would queue behind the request. Each attempt lasts at
 * most 200 ms, with pauses in which waiting sessions get their locks. Adds the time spent waiting
 * to *waited_us, and raises LOCK_NOT_AVAILABLE once it exceeds lock_timeout, or PFS_LONGEST_WAIT if
 * lock_timeout is 0.
 */
void pfs_lock_in_turns(Oid relation_id, LOCKMODE mode, int64 *waited_us);

#endif
