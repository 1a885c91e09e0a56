/*
 * rollup_verify.h
 *		Checks roll-ups (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_VERIFY_H
#define PFS_ROLLUP_VERIFY_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Reports roll-ups that name missing segments, or differ from their segments. The requirements are
 * those of pfs_verify_table(). Raises DATA_CORRUPTED for bytes that cannot be read.
 */
void pfs_rollups_verify(Relation relation, Snapshot snapshot,
						void (*report)(void *arg, const char *problem), void *arg);

#endif
