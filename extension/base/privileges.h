/*
 * privileges.h
 *		Checks of privileges for code that reads and writes tables without the executor.
 */
#ifndef PFS_PRIVILEGES_H
#define PFS_PRIVILEGES_H

#include "profstore.h"

#include "nodes/parsenodes.h"

/*
 * Raises INSUFFICIENT_PRIVILEGE, with a hint to grant_read or grant_write, unless the current user
 * has ACL_SELECT or ACL_INSERT on a table of the extension.
 */
void pfs_require_privilege(Oid relid, AclMode mode);

/*
 * Like pfs_require_privilege(), and also raises the error if row policies apply, which would be
 * bypassed.
 */
void pfs_require_all_rows(Oid relid, AclMode mode);

/*
 * Like pfs_require_all_rows() with ACL_SELECT, but also accepts a user who may read samples of some
 * series only (the view selected_samples). The caller must then hide every row of the table that
 * belongs to a series hidden from the user.
 */
void pfs_require_rows_of_series(Oid relid);

/* Raises INSUFFICIENT_PRIVILEGE if row policies apply. */
void pfs_refuse_row_security(Oid relid);

/* Raises INSUFFICIENT_PRIVILEGE unless the current user may execute a function. */
void pfs_require_execute(Oid function_id);

/* The user whom pfs_become_owner() has replaced. */
typedef struct PfsCaller
{
	Oid user;
	int context;
} PfsCaller;

/*
 * Makes the extension's owner the current user, since only the owner may use the schema of the
 * inner functions. An error restores the previous user at the end of the (sub)transaction.
 */
PfsCaller pfs_become_owner(void);
void pfs_become_caller(PfsCaller caller);

#endif
