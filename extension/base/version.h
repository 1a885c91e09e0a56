/*
 * version.h
 *		Whether the functions and tables of this database are those that the module was built for.
 *
 * A package upgrade replaces the module at once, while each database keeps its functions and tables
 * until ALTER EXTENSION UPDATE, and a standby until its primary did. In between, tables are read
 * and written and stacks interned as ever; functions that show samples or care for them raise the
 * error below, before they look at an argument.
 *
 * Builds between two releases have one version. Each install script carries its hash, and the
 * module the hash of the script that it was built with.
 */
#ifndef PFS_VERSION_H
#define PFS_VERSION_H

#include "profstore.h"

/*
 * The extension's schema; InvalidOid where there is no extension, or its schemas have other
 * names.
 */
Oid pfs_extension_schema(void);

/* Whether the extension is here, made by the script that the module was built with. */
bool pfs_extension_is_current(void);

/* Raises OBJECT_NOT_IN_PREREQUISITE_STATE unless it is. */
void pfs_extension_require_current(void);

#endif
