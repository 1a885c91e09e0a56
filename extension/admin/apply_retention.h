/*
 * apply_retention.h
 *		Retention of one database, for the procedure and the background worker.
 */
#ifndef PFS_APPLY_RETENTION_H
#define PFS_APPLY_RETENTION_H

#include "profstore.h"

/*
 * Applies the settings of table profstore.retention, collects the dictionary if that is due, and
 * commits after each step. The caller must be in a transaction that may be committed; a new
 * transaction is in progress at the return. A failed step gives a WARNING and is repeated by the
 * next call.
 */
void pfs_apply_retention(void);

#endif
