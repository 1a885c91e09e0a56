/*
 * calling_role.h
 *		The role that owns the rows of a writer; internal to the room.
 */
#ifndef PFS_CALLING_ROLE_H
#define PFS_CALLING_ROLE_H

#include "profstore.h"

/*
 * Returns the name of the calling role, palloc'd. In a SECURITY DEFINER function it is the caller's
 * role, not the owner's.
 */
char *pfs_calling_role(void);
Oid pfs_calling_role_id(void);

#endif
