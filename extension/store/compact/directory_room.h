/*
 * directory_room.h
 *		Returns free space in the directory to the operating system.
 */
#ifndef PFS_DIRECTORY_ROOM_H
#define PFS_DIRECTORY_ROOM_H

#include "profstore.h"

#include "store/compact/relocation.h"

/*
 * If the directory's TOAST relation has a quarter more pages than are filled, moves level-2 rows of
 * the table whose headers and sums lie towards the end into free space before them. Never extends
 * the relation. The caller holds ShareUpdateExclusiveLock on the table and the locks of
 * pfs_directory_try_lock(). Never returns PFS_RELOCATION_AWAITS_VACUUM, which is about the table's
 * own TOAST relation.
 */
PfsRelocation pfs_relocate_directory_rows(Relation relation, Snapshot snapshot);

/*
 * Returns true if VACUUM may find space in a relation of the directory, or in its TOAST relation,
 * that the free space map does not have. Call it in a transaction.
 */
bool pfs_awaits_vacuum(Oid relation_id);

#endif
