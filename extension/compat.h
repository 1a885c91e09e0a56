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

#if PG_VERSION_NUM >= 150000
#include "access/xlogrecovery.h"
#else
#include "access/xlog.h"
#define GetWALInsertionTimeLine()	  ThisTimeLineID
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* The fourth argument of PostgreSQL 18 gathers counters for EXPLAIN. */
#if PG_VERSION_NUM >= 180000
#define pfs_index_beginscan(table, index, snapshot, key_count) \
	index_beginscan(table, index, snapshot, NULL, key_count, 0)
#else
#define pfs_index_beginscan(table, index, snapshot, key_count) \
	index_beginscan(table, index, snapshot, key_count, 0)
#endif

#endif
