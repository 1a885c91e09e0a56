/*
 * keep_chunks.h
 *		Chunks of a scan that verdicts have kept, given in place of their blocks, and new ones to
 *		keep.
 *
 * A chunk is kept where its rows are wanted by series and time, filters ask for no more than
 * series, and each of its blocks was added up (group_sums.h).
 */
#ifndef PFS_KEEP_CHUNKS_H
#define PFS_KEEP_CHUNKS_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* When a unit was opened: whether its chunks may be kept, and for which series. */
void pfs_scan_keep_unit(PfsBlockScan *scan);

/*
 * At a chunk's first block. True: the chunk is kept, its rows are given next, and the scan stands
 * on its last block, which is not to be read. Else it is noted as it is read.
 */
bool pfs_scan_enter_chunk(PfsBlockScan *scan);

/* Gives the next rows of the chunk that was entered; false where there are none. */
bool pfs_scan_give_kept(PfsBlockScan *scan, PfsBlock *block);

/* Notes the block that was read, which has rows or not, and keeps the chunk at its last. */
void pfs_scan_note_block(PfsBlockScan *scan, bool has_rows);

#endif
