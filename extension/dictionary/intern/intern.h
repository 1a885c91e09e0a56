/*
 * intern.h
 *		Ids that interning keeps between calls; internal to the room.
 */
#ifndef PFS_INTERN_H
#define PFS_INTERN_H

#include "profstore.h"

/* Longest key of a dictionary partition, in bytes. */
#define PFS_PARTITION_KEY_MAX 255

/* Registers this cache as a part of the caches. */
void pfs_intern_init(void);

/*
 * Returns the id of a dictionary partition, and stores it if it is new. Runs SQL in SPI, so the
 * caller must have the owner's privileges. Raises INVALID_PARAMETER_VALUE for a key that is empty
 * or too long.
 */
int32 pfs_partition_intern(const char *key);

/*
 * Like pfs_partition_intern(), for a profile type in its string form. Errors are those of
 * intern_profile_types().
 */
int32 pfs_profile_type_intern(const char *profile_type);

/*
 * Returns the next node number that is larger than the parent's, from the block of numbers that
 * this backend has reserved.
 */
int64 pfs_node_number_next(int64 parent_number);

/*
 * Raises FOREIGN_KEY_VIOLATION if one of these locations (sorted, distinct) is not stored, and
 * OBJECT_NOT_IN_PREREQUISITE_STATE if one is condemned.
 */
void pfs_locations_require(const int32 *ids, uint32 count);

#endif
