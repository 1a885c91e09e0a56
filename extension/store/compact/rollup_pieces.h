/*
 * rollup_pieces.h
 *		Sums by series and stack beside a roll-up, in pieces (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_PIECES_H
#define PFS_ROLLUP_PIECES_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "store/scan/rollup.h"

/*
 * Writes the pieces of a roll-up that names segments and series, and returns the first series of
 * each; none where they would not be worth their bytes. In CurrentMemoryContext.
 */
PfsNumbers pfs_rollup_pieces_build(Relation relation, Snapshot snapshot, const PfsRollup *rollup);

#endif
