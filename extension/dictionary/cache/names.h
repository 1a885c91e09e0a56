/*
 * names.h
 *		The cache of names as a part of the caches; what it holds is in dictionary.h. Internal to
 *		the room.
 */
#ifndef PFS_NAMES_H
#define PFS_NAMES_H

#include "profstore.h"

/* Registers the part. */
void pfs_names_init(void);

/* Bytes that names take. */
Size pfs_names_bytes(void);

#endif
