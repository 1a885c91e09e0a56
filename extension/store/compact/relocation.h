/*
 * relocation.h
 *		Giving free room in a table's TOAST relation back to the disk.
 */
#ifndef PFS_RELOCATION_H
#define PFS_RELOCATION_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef enum PfsRelocation
{
	PFS_RELOCATION_NONE,		  /* the relation is about as long as it must be */
	PFS_RELOCATION_MOVED,		  /* some segments have moved to its front */
	PFS_RELOCATION_AWAITS_VACUUM, /* VACUUM would shorten it, or tell where there is room */
	PFS_RELOCATION_GIVEN_UP		  /* somebody else has changed a segment */
} PfsRelocation;

/*
 * Where the relation has a quarter more pages than its streams need, or an eighth where all
 * segments are of level 2, moves some of those that lie behind the others into free room before
 * them. Pages that VACUUM finds empty at the end it cuts off. Takes no page that is not there. The
 * caller holds ShareUpdateExclusiveLock on the table and pfs_directory_try_lock; where the TOAST
 * relation itself is locked, it is left alone.
 */
PfsRelocation pfs_relocate_streams(Relation relation, Snapshot snapshot);

#endif
