/*
 * read_block.h
 *		Reading one block of an open unit.
 */
#ifndef PFS_READ_BLOCK_H
#define PFS_READ_BLOCK_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Reads the block that the scan stands on; false where no row of it is wanted. */
bool pfs_scan_read_block(PfsBlockScan *scan, PfsBlock *block);

/* Gives the rows that the columns asked for have. */
void pfs_scan_give_block(PfsBlockScan *scan, PfsBlock *block);

#endif
