/*
 * privileges.h
 *		What is read and written behind the executor's back is checked here as the executor would.
 */
#ifndef PFS_PRIVILEGES_H
#define PFS_PRIVILEGES_H

#include "profstore.h"

#include "nodes/parsenodes.h"

/*
 * Raises INSUFFICIENT_PRIVILEGE, with a hint at grant_read or grant_write, unless the current user
 * may ACL_SELECT or ACL_INSERT a table of ours.
 */
void pfs_require_privilege(Oid relid, AclMode mode);

/* The same, and that no row policies are in force, which would go unseen. */
void pfs_require_all_rows(Oid relid, AclMode mode);

/* That no row policies are in force, alone. */
void pfs_refuse_row_security(Oid relid);

/* Raises INSUFFICIENT_PRIVILEGE unless the current user may call a function. */
void pfs_require_execute(Oid function_id);

#endif
