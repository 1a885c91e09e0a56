/*
 * memory_peak.h
 *		Moments at which queries have the most memory, for tests of what work_mem bounds.
 */
#ifndef PFS_MEMORY_PEAK_H
#define PFS_MEMORY_PEAK_H

#include "profstore.h"

/* The rendezvous variable in which the module of the tests (test/module) leaves what looks. */
#define PFS_MEMORY_LOOK "profstore_memory_look"
typedef void (*PfsMemoryLook)(void);

/*
 * Has the memory looked at, where that module is loaded. To be called where a part of a query has
 * what it needs and is about to let go of it; costs nothing.
 */
void pfs_memory_look(void);

#endif
