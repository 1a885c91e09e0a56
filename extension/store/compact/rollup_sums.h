/*
 * rollup_sums.h
 *		What a roll-up says, from the segments that it names. All is made in CurrentMemoryContext.
 */
#ifndef PFS_ROLLUP_SUMS_H
#define PFS_ROLLUP_SUMS_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "base/arrays.h"
#include "store/scan/rollup.h"
#include "store/segment/row_order.h"

/*
 * Adds up the samples of a roll-up's segments and series, of a piece by series, too; false where
 * that would have more rows than the limit, or none.
 */
bool pfs_rollup_sums(Relation relation, Snapshot snapshot, const PfsRollup *rollup, uint32 limit,
					 PfsRows *rows);

/* Where its series have stacks; none where these are so scattered that it does not pay. */
PfsNumbers pfs_rollup_stack_series(Relation relation, Snapshot snapshot, const PfsRollup *rollup);

/* The distinct series of some segments. */
PfsNumbers pfs_rollup_series(Relation relation, Snapshot snapshot, PfsNumbers segments);

#endif
