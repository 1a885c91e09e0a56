/*
 * rollup_verify.h
 *		Checking roll-ups (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_VERIFY_H
#define PFS_ROLLUP_VERIFY_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Tells what is wrong with roll-ups, and which name segments that are missing. The
 * caller is bound as by pfs_verify_table; raises DATA_CORRUPTED for bytes that cannot be read.
 */
void pfs_rollups_verify(Relation relation, Snapshot snapshot,
						void (*report)(void *arg, const char *problem), void *arg);

#endif
