/*
 * rollup_pieces.h
 *		Pieces of a roll-up: sums by series and stack (store/scan/rollup.h).
 */
#ifndef PFS_ROLLUP_PIECES_H
#define PFS_ROLLUP_PIECES_H

#include "profstore.h"

#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "store/scan/rollup.h"

/*
 * Writes the pieces of a roll-up whose segments and series are set. Returns the first series of
 * each piece, in CurrentMemoryContext; none if the pieces would not be worth their bytes.
 */
PfsNumbers pfs_rollup_pieces_build(Relation relation, Snapshot snapshot, const PfsRollup *rollup);

#endif
