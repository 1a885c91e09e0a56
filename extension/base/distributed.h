/*
 * distributed.h
 *		Tables whose rows are not in their own file.
 *
 * If Citus has distributed a table, its rows are in shards, here or on other servers. The table
 * itself remains as an empty shell with its access method. Code that reads or writes the shell
 * without the planner, into which Citus hooks, would find a table without rows. select/shard_rows.h
 * asks the nodes that have the shards.
 */
#ifndef PFS_DISTRIBUTED_H
#define PFS_DISTRIBUTED_H

#include "profstore.h"

/* Returns true if Citus lists the table or partition in its catalog; false without Citus. */
bool pfs_is_distributed(Oid relation_id);

/*
 * Returns true if profstore.distribute() has distributed samples and tiers, so that code which asks
 * the shards must be used instead of code which reads partitions.
 */
bool pfs_samples_are_spread(void);

/*
 * Returns true if profstore.distribute() has distributed samples, and Citus lists this table or
 * partition.
 */
bool pfs_is_spread(Oid relation_id);

/* Raises FEATURE_NOT_SUPPORTED on a worker of Citus. */
void pfs_require_coordinator(void);

/* Raises FEATURE_NOT_SUPPORTED, "cannot WHAT table", for a distributed table. */
void pfs_require_local(Oid relation_id, const char *what);

/* Like pfs_require_local(), but for count tables of the extension's schema, given by name. */
void pfs_require_local_tables(const char *const *names, size_t count, const char *what);

#endif
