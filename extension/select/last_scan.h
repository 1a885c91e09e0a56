/*
 * last_scan.h
 *		Counters of the last statement that scanned samples, for last_scan(). A statement may
 *		scan several times.
 */
#ifndef PFS_LAST_SCAN_H
#define PFS_LAST_SCAN_H

#include "profstore.h"

#include "store/scan/block_scan.h"

/* Call when a scan begins. */
void pfs_last_scan_begin(void);

/* Adds the counters of a partition. */
void pfs_last_scan_add(const PfsScanCounters *counters);

#endif
