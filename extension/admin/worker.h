/*
 * worker.h
 *		Background compaction and retention, where the module is in shared_preload_libraries.
 *
 * A launcher wakes up every profstore.compaction_naptime and starts a worker for one database after
 * the other; it waits for its end, but not for long, so that one database cannot stop the others. A
 * worker goes over the database's tables and merges in transactions of one merge each, then applies
 * retention. It waits for no lock of a table of samples, for others a bounded time, and ends when
 * there is nothing left to do.
 */
#ifndef PFS_WORKER_H
#define PFS_WORKER_H

#include "profstore.h"

/* Defines the settings; registers the launcher, if the server is just starting. */
void pfs_worker_init(void);

#endif
