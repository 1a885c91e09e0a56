/*
 * read_block.h
 *		Reads one block of an open unit.
 */
#ifndef PFS_READ_BLOCK_H
#define PFS_READ_BLOCK_H

#include "profstore.h"

#include "store/scan/scan_state.h"

/* Reads the current block; returns false if no row of it is wanted. */
bool pfs_scan_read_block(PfsBlockScan *scan, PfsBlock *block);

/* Fills in block from the columns that were asked for. */
void pfs_scan_give_block(PfsBlockScan *scan, PfsBlock *block);

#endif
