/*
 * custom_scan.h
 *		ProfstoreScan.
 */
#ifndef PFS_CUSTOM_SCAN_H
#define PFS_CUSTOM_SCAN_H

#include "profstore.h"

#include "nodes/extensible.h"

/* custom_scan_path.c: registers the node and its planner hook; called when the module is loaded. */
void pfs_custom_scan_init(void);

/* custom_scan_exec.c: makes a state for the executor. */
Node *pfs_custom_scan_create_state(CustomScan *plan);

#endif
