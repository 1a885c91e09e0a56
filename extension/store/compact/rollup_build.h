/*
 * rollup_build.h
 *		Makes roll-ups (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_BUILD_H
#define PFS_ROLLUP_BUILD_H

#include "profstore.h"

#include "utils/relcache.h"

/*
 * Makes the next roll-up that the table lacks; returns false if there is none. The requirements are
 * those of pfs_compaction_step(), and the caller is in a subtransaction with an active snapshot.
 */
bool pfs_rollup_step(Relation relation);

#endif
