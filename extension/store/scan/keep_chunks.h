/*
 * keep_chunks.h
 *		Reads chunks of a scan from the sums that verdicts have kept of them, and keeps the sums
 *		of new ones.
 *
 * A chunk is kept if its rows are wanted by series and time, no filter but one on series applies,
 * and every block of it was summed (group_sums.h).
 */
#ifndef PFS_KEEP_CHUNKS_H
#define PFS_KEEP_CHUNKS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/*
 * Called when a unit has been opened: decides whether its chunks may be kept, and for which series.
 */
void pfs_scan_keep_unit(PfsBlockScan *scan);

/*
 * Called at a chunk's first block. Returns true if the chunk is kept: then its rows are given next,
 * and the scan moves to its last block, which must not be read. Otherwise starts recording the
 * chunk.
 */
bool pfs_scan_enter_chunk(PfsBlockScan *scan);

/* Gives the next rows of the kept chunk; returns false if there are none. */
bool pfs_scan_give_kept(PfsBlockScan *scan, PfsBlock *block);

/*
 * Records the block that was just read, with or without rows, and keeps the chunk after its last
 * block.
 */
void pfs_scan_note_block(PfsBlockScan *scan, bool has_rows);

#endif
