/*
 * calling_role.h
 *		The role that a writer's rows belong to; internal to the room.
 */
#ifndef PFS_CALLING_ROLE_H
#define PFS_CALLING_ROLE_H

#include "profstore.h"

/*
 * Name of the role that calls, palloc'd: in a function that runs as its owner still the caller's,
 * not the owner's.
 */
char *pfs_calling_role(void);

#endif
