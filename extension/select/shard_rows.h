/*
 * shard_rows.h
 *		The samples of a selection from the shards of distributed tables, summed by the nodes.
 *
 * profstore_internal.ask_shards() sends a request to every node that has a shard with one of the
 * series. Each node reads its shards of samples and tiers under one snapshot
 * (profstore_internal.node_rows()), so that it sees a row that retention moves exactly once, and
 * returns one sum for each key. The statements run as the owner of the extension, so that readers
 * need no account on the nodes. Therefore the caller must have checked the privileges of its user,
 * and the selection must have only series that the user may see.
 */
#ifndef PFS_SHARD_ROWS_H
#define PFS_SHARD_ROWS_H

#include "profstore.h"

#include "select/selection.h"
#include "select/shard_wire.h"
#include "select/tiers.h"
#include "store/scan/scan_request.h"

typedef struct PfsShardRows PfsShardRows;

/*
 * Begins to read, with the arguments of pfs_sample_scan_begin_judged(). Verdicts on stacks are
 * computed here: the nodes first list the distinct stacks, and then receive the list of those that
 * pass.
 */
PfsShardRows *pfs_shard_rows_begin(const PfsSelection *selection, int columns, PfsSegmentPart sums,
								   PfsVerdicts verdicts);

/*
 * Returns the next block, which is valid until the next call; NULL at the end. It has the requested
 * columns (a block of scrapes: time, series, value), and only series and times of the selection.
 * Raises DATA_CORRUPTED for other answers.
 */
const PfsShardBlock *pfs_shard_rows_next(PfsShardRows *rows);
void pfs_shard_rows_end(PfsShardRows *rows);

/*
 * Finds the end of the last bucket of each tier in the partitions that overlap the range, as
 * pfs_tier_end() does, over all nodes.
 */
void pfs_shard_tier_ends(const PfsSelection *selection, TimestampTz *ends);

#endif
