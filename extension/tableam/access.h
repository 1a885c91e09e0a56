/*
 * access.h
 *		Setup of the room: its hooks.
 */
#ifndef PFS_ACCESS_H
#define PFS_ACCESS_H

#include "profstore.h"

void pfs_access_init(void);

/* executor_guard.c */
void pfs_executor_guard_init(void);

#endif
