/*
 * names.h
 *		The cache of names, as a part of the caches; dictionary.h describes its contents.
 *		Internal to the room.
 */
#ifndef PFS_NAMES_H
#define PFS_NAMES_H

#include "profstore.h"

/* Registers the names as a part of the caches. */
void pfs_names_init(void);

/* Returns the bytes of the cached names. */
Size pfs_names_bytes(void);

#endif
