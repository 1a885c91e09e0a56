/*
 * rollup_build.h
 *		Making roll-ups (store/scan/rollup.h), and checking them.
 */
#ifndef PFS_ROLLUP_BUILD_H
#define PFS_ROLLUP_BUILD_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Makes the next roll-up that the table lacks; false where there is none to make. The caller is
 * bound as by pfs_compaction_step, and in a subtransaction with an active snapshot.
 */
bool pfs_rollup_step(Relation relation);

/*
 * Tells what is wrong with roll-ups, and which name segments that are missing. The
 * caller is bound as by pfs_verify_table; raises DATA_CORRUPTED for bytes that cannot be read.
 */
void pfs_rollups_verify(Relation relation, Snapshot snapshot,
						void (*report)(void *arg, const char *problem), void *arg);

#endif
