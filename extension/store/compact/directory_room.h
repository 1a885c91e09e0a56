/*
 * directory_room.h
 *		Giving free room in the directory back to the disk.
 */
#ifndef PFS_DIRECTORY_ROOM_H
#define PFS_DIRECTORY_ROOM_H

#include "profstore.h"

#include "store/compact/relocation.h"

/*
 * Where the directory's TOAST relation has a quarter more pages than are filled, moves those rows
 * of the table that stay and whose headers and sums lie behind the others into free room before
 * them. Takes no page that is not there. The caller holds ShareUpdateExclusiveLock on the table and
 * pfs_directory_try_lock. Never says AWAITS_VACUUM: that is for the table's own TOAST relation.
 */
PfsRelocation pfs_relocate_directory_rows(Relation relation, Snapshot snapshot);

/*
 * Whether VACUUM may find room in a relation of the directory, or in its TOAST relation, that the
 * free space map does not know of. The caller is in a transaction.
 */
bool pfs_awaits_vacuum(Oid relation_id);

#endif
