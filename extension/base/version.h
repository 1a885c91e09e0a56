/*
 * version.h
 *		Checks that this database has the functions and tables for which the module was built.
 *
 * A package upgrade replaces the module at once, but each database keeps its functions and tables
 * until ALTER EXTENSION UPDATE, and a standby until its primary runs that command. In between, the
 * module still reads and writes tables and interns stacks; functions that show or maintain samples
 * raise the error below, before they read an argument.
 *
 * Builds between two releases have one version number. Therefore each install script carries its
 * own hash, and the module the hash of the script that it was built with.
 */
#ifndef PFS_VERSION_H
#define PFS_VERSION_H

#include "profstore.h"

/*
 * Returns the OID of the extension's schema; InvalidOid if there is no extension, or its schemas
 * were renamed.
 */
Oid pfs_extension_schema(void);

/* Returns true if the extension was created by the script that the module was built with. */
bool pfs_extension_is_current(void);

/* Raises OBJECT_NOT_IN_PREREQUISITE_STATE unless pfs_extension_is_current(). */
void pfs_extension_require_current(void);

#endif
