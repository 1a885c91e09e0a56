/*
 * rollup_build.h
 *		Making roll-ups (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_BUILD_H
#define PFS_ROLLUP_BUILD_H

#include "profstore.h"

#include "utils/relcache.h"

/*
 * Makes the next roll-up that the table lacks; false where there is none to make. The caller is
 * bound as by pfs_compaction_step, and in a subtransaction with an active snapshot.
 */
bool pfs_rollup_step(Relation relation);

#endif
