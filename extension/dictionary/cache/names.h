/*
 * names.h
 *		The cache of names, as a part of the caches; dictionary.h describes its contents.
 *		Internal to the room.
 */
#ifndef PFS_NAMES_H
#define PFS_NAMES_H

#include "profstore.h"

/* Registers the part. */
void pfs_names_init(void);

/* Bytes of the cached names. */
Size pfs_names_bytes(void);

#endif
