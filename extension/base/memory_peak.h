/*
 * memory_peak.h
 *		Points at which a query uses the most memory, for tests of the limits by work_mem.
 */
#ifndef PFS_MEMORY_PEAK_H
#define PFS_MEMORY_PEAK_H

#include "profstore.h"

/* Rendezvous variable in which the tests' module (test/module) stores its callback. */
#define PFS_MEMORY_LOOK "profstore_memory_look"
typedef void (*PfsMemoryLook)(void);

/*
 * Calls the tests' module, if it is loaded. Call this when a part of a query has allocated all it
 * needs, and is about to free it. Costs nothing otherwise.
 */
void pfs_memory_look(void);

#endif
