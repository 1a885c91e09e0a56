/*
 * outbox.h
 *		Hands a window over to the collector: its totals, the names of its kernels, its sums and its
 *		kept launches.
 */
#ifndef GPU_LIBRARY_OUTBOX_H
#define GPU_LIBRARY_OUTBOX_H

#include <stdint.h>

#include "gpu_library/window.h"

/*
 * Calls pfs_gpu_rows() with the window's rows; head is its row of kind WINDOW, whose number of rows
 * is filled in. The tables of totals are reordered. Names that were sent less than 10 s ago are not
 * sent again.
 */
void outbox_hand_over(struct pfs_gpu_row *head, WindowTotals *totals, uint64_t now_ns);

#endif
