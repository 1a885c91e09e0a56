/*
 * worker_process.h
 *		How background workers of the extension begin.
 */
#ifndef PFS_WORKER_PROCESS_H
#define PFS_WORKER_PROCESS_H

#include "profstore.h"

/* Signals of a process that has no connection yet. */
void pfs_worker_setup(void);

/* Makes the process wait for a lock as long as upkeep does, at most. */
void pfs_worker_bound_waits(void);

/*
 * Both, and connects to the database as its superuser, with settings that defaults of the database
 * or the role do not change. Leaves a memory context for the process's life current.
 */
void pfs_worker_begin(Oid database_id);

#endif
