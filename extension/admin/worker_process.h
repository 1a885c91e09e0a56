/*
 * worker_process.h
 *		Start of the extension's background workers.
 */
#ifndef PFS_WORKER_PROCESS_H
#define PFS_WORKER_PROCESS_H

#include "profstore.h"

/* Installs the signal handlers of a process without a database connection. */
void pfs_worker_setup(void);

/* Limits the process's waits for locks to PFS_LONGEST_WAIT. */
void pfs_worker_bound_waits(void);

/*
 * Installs the signal handlers, limits waits for locks, and connects to the database as the
 * bootstrap superuser, with settings that override the defaults of database and role. Makes a
 * memory context current that lives as long as the process.
 */
void pfs_worker_begin(Oid database_id);

#endif
