/*
 * distributed.h
 *		Tables whose rows are not in their own file.
 *
 * Where Citus has distributed a table, it keeps the rows in shards, here or on other servers. The
 * table itself stays behind as an empty shell of the same access method. Whatever reads or writes
 * the shell without the planner, which Citus hooks into, would take it for a table without rows.
 */
#ifndef PFS_DISTRIBUTED_H
#define PFS_DISTRIBUTED_H

#include "profstore.h"

/* Returns true if Citus lists the table or partition in its catalog; false without Citus. */
bool pfs_is_distributed(Oid relation_id);

/*
 * Raises FEATURE_NOT_SUPPORTED, "cannot what table", for a distributed table.
 */
void pfs_require_local(Oid relation_id, const char *what);

/* Like pfs_require_local(), but takes count tables of the extension's schema, by their names. */
void pfs_require_local_tables(const char *const *names, size_t count, const char *what);

#endif
