/*
 * store.h
 *		Loading of the room: its settings and transaction callbacks.
 */
#ifndef PFS_STORE_H
#define PFS_STORE_H

#include "profstore.h"

void pfs_store_init(void);

#endif
