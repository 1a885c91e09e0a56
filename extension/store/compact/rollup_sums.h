/*
 * rollup_sums.h
 *		Computes the contents of a roll-up from its segments. Results are allocated in
 *		CurrentMemoryContext.
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
 * Sums the samples of a roll-up's segments and series by stack, or for a piece by series and stack.
 * Returns false if there would be no rows, or more than limit.
 */
bool pfs_rollup_sums(Relation relation, Snapshot snapshot, const PfsRollup *rollup, uint32 limit,
					 PfsRows *rows);

/*
 * Returns the distinct pairs of stack part and series, packed (PFS_STACK_SERIES_BITS), ascending.
 * Empty if there are more than MOST_PARTS_PER_SERIES pairs per series, or an id cannot be packed.
 */
PfsNumbers pfs_rollup_stack_series(Relation relation, Snapshot snapshot, const PfsRollup *rollup);

/* Returns the distinct series of some segments, ascending. */
PfsNumbers pfs_rollup_series(Relation relation, Snapshot snapshot, PfsNumbers segments);

#endif
