/*
 * relocation.h
 *		Returns free space in a table's TOAST relation to the operating system.
 */
#ifndef PFS_RELOCATION_H
#define PFS_RELOCATION_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef enum PfsRelocation
{
	PFS_RELOCATION_NONE,		  /* the relation is about as long as its streams need */
	PFS_RELOCATION_MOVED,		  /* some segments were moved to its front */
	PFS_RELOCATION_AWAITS_VACUUM, /* VACUUM could shorten it, or find free space for moving */
	PFS_RELOCATION_GIVEN_UP		  /* another transaction has changed a segment */
} PfsRelocation;

/*
 * If the relation has a quarter more pages than its streams need, or an eighth if all segments are
 * of level 2, moves some streams near its end into free space before them. VACUUM then cuts off the
 * empty pages at the end. Never extends the relation. The caller holds ShareUpdateExclusiveLock on
 * the table and the locks of pfs_directory_try_lock(). Does nothing if the TOAST relation itself is
 * locked.
 */
PfsRelocation pfs_relocate_streams(Relation relation, Snapshot snapshot);

#endif
