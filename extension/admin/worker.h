/*
 * worker.h
 *		Background compaction, where the module is in shared_preload_libraries.
 *
 * A launcher wakes up every profstore.compaction_naptime and starts a worker for one database after
 * the other. A worker goes over the database's tables and merges in transactions of one merge each;
 * it waits for no lock, and ends when there is nothing left to do.
 */
#ifndef PFS_WORKER_H
#define PFS_WORKER_H

#include "profstore.h"

/* Defines the settings; registers the launcher, if the server is just starting. */
void pfs_worker_init(void);

#endif
