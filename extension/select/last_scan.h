/*
 * last_scan.h
 *		What the last statement that scanned samples has read, for last_scan().
 *
 * A statement may scan several times.
 */
#ifndef PFS_LAST_SCAN_H
#define PFS_LAST_SCAN_H

#include "profstore.h"

#include "store/scan/block_scan.h"

/* A scan begins. */
void pfs_last_scan_begin(void);

/* It has read so much of a partition. */
void pfs_last_scan_add(const PfsScanCounters *counters);

#endif
