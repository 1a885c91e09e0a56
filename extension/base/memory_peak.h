/*
 * memory_peak.h
 *		The most memory that queries of a session have had, for tests of what work_mem bounds.
 */
#ifndef PFS_MEMORY_PEAK_H
#define PFS_MEMORY_PEAK_H

#include "profstore.h"

/*
 * Looks at what the running statement and its transaction have taken, the caches aside. To be
 * called where a part of a query has what it needs and is about to let go of it; costs as little as
 * there are memory contexts.
 */
void pfs_memory_look(void);

#endif
