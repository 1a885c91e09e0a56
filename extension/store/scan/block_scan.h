/*
 * block_scan.h
 *		The one way to read columns: blocks of int64 values, pruned and filtered.
 *
 * Used by the access method's scan, by the custom nodes and by the functions that query. A scan
 * sees the segments whose directory rows its snapshot sees, in a list made at begin, and rows of
 * this transaction that still wait in memory, copied at begin. These only the process that has
 * written them can see: a shared scan brings them to others, any other scan in a parallel worker
 * misses them. The caller keeps the snapshot active or registered until end, has the relation open
 * with at least AccessShareLock, and has checked privileges and row security.
 */
#ifndef PFS_BLOCK_SCAN_H
#define PFS_BLOCK_SCAN_H

#include "profstore.h"

#include "access/tupdesc.h"

#include "store/scan/scan_request.h"

/*
 * The scan and all that it returns live in a memory context of its own, child of
 * CurrentMemoryContext. Raises DATA_CORRUPTED with relation, segment, stream and offset where
 * stored bytes are damaged. A column that a segment lacks, added to the table later, has its
 * missing value (the ADD COLUMN's DEFAULT, or null).
 */
PfsBlockScan *pfs_block_scan_begin(const PfsScanRequest *request);

bool pfs_block_scan_next(PfsBlockScan *scan, PfsBlock *block);
const PfsScanCounters *pfs_block_scan_counters(const PfsBlockScan *scan);
void pfs_block_scan_end(PfsBlockScan *scan);

/* The block before; where next has found the end, the last one. Not for shared scans. */
bool pfs_block_scan_previous(PfsBlockScan *scan, PfsBlock *block);
/* Back to the start, over the same rows. */
void pfs_block_scan_rewind(PfsBlockScan *scan);
/* Leaves out that many blocks, unread. */
void pfs_block_scan_skip(PfsBlockScan *scan, uint64 block_count);
/* Rows and blocks that the scan covers, filters and pruning aside. */
uint64 pfs_block_scan_row_count(const PfsBlockScan *scan);
uint64 pfs_block_scan_block_count(const PfsBlockScan *scan);

/*
 * Before the first block: columns that stored rows lack have the defaults that an older description
 * of the table names. ALTER TABLE forgets them before it reads the rows that it rewrites.
 */
void pfs_block_scan_use_defaults(PfsBlockScan *scan, TupleDesc desc);

#endif
