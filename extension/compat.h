/*
 * compat.h
 *		The one place that knows PG_VERSION_NUM: differences of PostgreSQL 14 to 18.
 */
#ifndef PFS_COMPAT_H
#define PFS_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 140000 || PG_VERSION_NUM >= 190000
#error "profstore supports PostgreSQL 14 to 18"
#endif

#if PG_VERSION_NUM < 160000
#define RelFileLocator RelFileNode
#define rd_locator	   rd_node
#define relNumber	   relNode
#define RelFileNumber  Oid
#endif

#endif
