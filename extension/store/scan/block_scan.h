/*
 * block_scan.h
 *		The only way to read columns: blocks of int64 values, pruned and filtered.
 *
 * The access method's scan, the custom nodes and the query functions use it. A scan sees the
 * segments whose directory rows its snapshot sees, listed at begin, and rows of this transaction
 * that still wait in memory, copied at begin. Only the process that inserted waiting rows can see
 * them: a shared scan hands them to other processes, any other scan in a parallel worker misses
 * them. Until the scan ends, the caller keeps the snapshot active or registered and the relation
 * open with at least AccessShareLock. The caller has checked privileges and row security.
 */
#ifndef PFS_BLOCK_SCAN_H
#define PFS_BLOCK_SCAN_H

#include "profstore.h"

#include "access/tupdesc.h"

#include "store/scan/scan_request.h"

/*
 * Begins a scan. The scan and all that it returns live in a memory context of its own, a child of
 * CurrentMemoryContext. Raises DATA_CORRUPTED with relation, segment, stream and offset if stored
 * bytes are damaged. In a segment that lacks a column, because it was added to the table later, the
 * column has its missing value (the DEFAULT of ADD COLUMN, or null).
 */
PfsBlockScan *pfs_block_scan_begin(const PfsScanRequest *request);

bool pfs_block_scan_next(PfsBlockScan *scan, PfsBlock *block);
const PfsScanCounters *pfs_block_scan_counters(const PfsBlockScan *scan);
void pfs_block_scan_end(PfsBlockScan *scan);

/*
 * Returns the previous block with rows; the last block of the scan if pfs_block_scan_next() has
 * reached the end. Not for shared scans.
 */
bool pfs_block_scan_previous(PfsBlockScan *scan, PfsBlock *block);
/* Starts again at the first block, over the same rows. */
void pfs_block_scan_rewind(PfsBlockScan *scan);
/* Skips that many blocks without reading them. */
void pfs_block_scan_skip(PfsBlockScan *scan, uint64 block_count);
/* Returns the number of rows and blocks that the scan covers, regardless of filters and pruning. */
uint64 pfs_block_scan_row_count(const PfsBlockScan *scan);
uint64 pfs_block_scan_block_count(const PfsBlockScan *scan);

/*
 * Takes defaults from an older description of the table for columns that stored rows lack. ALTER
 * TABLE forgets the defaults before it reads the rows that it rewrites. Call it before the first
 * block.
 */
void pfs_block_scan_use_defaults(PfsBlockScan *scan, TupleDesc desc);

#endif
