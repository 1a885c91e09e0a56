/*
 * worker.h
 *		Background compaction and retention, if the module is in shared_preload_libraries.
 *
 * Every profstore.compaction_naptime a launcher starts a worker for one database after another. It
 * waits for each worker's end only for a bounded time, so that one database cannot stop the others.
 * A worker merges segments of the database's tables, one merge per transaction, then applies
 * retention, and ends when nothing is left to do. It skips locked tables of samples, and waits a
 * bounded time for other locks.
 */
#ifndef PFS_WORKER_H
#define PFS_WORKER_H

#include "profstore.h"

/* Defines the settings, and registers the launcher if the server is starting. */
void pfs_worker_init(void);

#endif
