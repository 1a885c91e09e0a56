/*
 * keep_chunks.h
 *		Reads chunks of a scan from the sums that its verdicts object has kept, and keeps the sums
 *		of new chunks there.
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
 * Called at a chunk's first block. If the chunk is kept, returns true: its rows are returned next,
 * and the scan moves to its last block, which must not be read. Otherwise returns false and starts
 * to record the chunk.
 */
bool pfs_scan_enter_chunk(PfsBlockScan *scan);

/* Returns the next rows of the kept chunk; false if there are none. */
bool pfs_scan_give_kept(PfsBlockScan *scan, PfsBlock *block);

/*
 * Records the block that was just read, with or without rows, and keeps the chunk after its last
 * block.
 */
void pfs_scan_note_block(PfsBlockScan *scan, bool has_rows);

#endif
