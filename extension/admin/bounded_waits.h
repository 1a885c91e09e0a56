/*
 * bounded_waits.h
 *		Upkeep that somebody's idle lock cannot hold up for long.
 */
#ifndef PFS_BOUNDED_WAITS_H
#define PFS_BOUNDED_WAITS_H

#include "profstore.h"

#include "storage/lockdefs.h"

/* What upkeep waits for a lock, at most; the background worker too. */
#define PFS_LONGEST_WAIT "10s"

/*
 * Until the end, waiting for a lock longer than PFS_LONGEST_WAIT is an error, LOCK_NOT_AVAILABLE,
 * unless the session has a shorter lock_timeout. Takes the level that begin returned; errors end it
 * by themselves.
 */
int pfs_bounded_waits_begin(void);
void pfs_bounded_waits_end(int level);

/*
 * Takes a lock for which readers or writers would queue behind the request: each attempt lasts
 * 200 ms at most, and others have their turn before the next one. Adds the time to *waited_us,
 * and raises LOCK_NOT_AVAILABLE once that exceeds lock_timeout, or PFS_LONGEST_WAIT if it is 0.
 */
void pfs_lock_in_turns(Oid relation_id, LOCKMODE mode, int64 *waited_us);

#endif
