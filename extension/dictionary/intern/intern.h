/*
 * intern.h
 *		What interning keeps between calls; internal to the room.
 */
#ifndef PFS_INTERN_H
#define PFS_INTERN_H

#include "profstore.h"

/* Longest key of a dictionary partition, in bytes. */
#define PFS_PARTITION_KEY_MAX 255

/* Registers what is kept as a part of the caches. */
void pfs_intern_init(void);

/*
 * Id of a dictionary partition, stored if it is not there. Runs SQL in SPI, so whoever calls has
 * the owner's privileges. Raises INVALID_PARAMETER_VALUE for a key without bytes, or with too many.
 */
int32 pfs_partition_intern(const char *key);

/* The same of a profile type in its string form; the errors are intern_profile_types()'s. */
int32 pfs_profile_type_intern(const char *profile_type);

/* Next node number that is larger than a parent's, from this backend's run of them. */
int64 pfs_node_number_next(int64 parent_number);

/*
 * Raises FOREIGN_KEY_VIOLATION where one of these locations (sorted, distinct) is not stored, and
 * OBJECT_NOT_IN_PREREQUISITE_STATE where one is condemned.
 */
void pfs_locations_require(const int32 *ids, uint32 count);

#endif
