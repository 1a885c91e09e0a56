/*
 * cell_workers.h
 *		Scans all slots around a deploy, in this process and parallel workers.
 */
#ifndef PFS_CELL_WORKERS_H
#define PFS_CELL_WORKERS_H

#include "profstore.h"

#include "insight/cell_scan.h"

/* Takes the sums of a slot (cell_scan.h), which are valid until it returns. */
typedef void (*PfsKeepSlot)(void *state, uint32 slot, const double *sums);

/*
 * Calls keep for each slot, in any order. One process scans a slot as a whole, so sums do not
 * depend on the number of processes. At most workers help; 0 if the selection is small or the
 * server has none to spare.
 */
void pfs_cells_scan(const PfsCellScan *scan, int workers, PfsKeepSlot keep, void *state);

#endif
