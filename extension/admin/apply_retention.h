/*
 * apply_retention.h
 *		Retention of one database, for the procedure and the background worker.
 */
#ifndef PFS_APPLY_RETENTION_H
#define PFS_APPLY_RETENTION_H

#include "profstore.h"

/*
 * Does what profstore.retention asks for, collects the dictionary where that is due, and commits
 * after each step; so it needs a transaction that may be ended, and another one is in progress at
 * the return. A step that fails is told in a WARNING and left for the next time.
 */
void pfs_apply_retention(void);

#endif
