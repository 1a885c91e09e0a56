/*
 * flame_result.h
 *		Nodes as rows of Grafana's flame-graph panel.
 */
#ifndef PFS_FLAME_RESULT_H
#define PFS_FLAME_RESULT_H

#include "profstore.h"

#include "base/srf.h"
#include "tree/flame_rows.h"
#include "tree/frames/frame_source.h"

/*
 * Puts one row. In a comparison, value and self are those of the base, and two more columns have
 * those of the selection that is compared with the base.
 */
void pfs_flame_result_put(const PfsResult *result, PfsSourceTable *sources, int32 ord,
						  const PfsFlameRow *row, bool is_diff);

/* Puts all rows that are left, numbered from ord on. Returns the next ordinal. */
int32 pfs_flame_result_put_all(const PfsResult *result, int32 ord, PfsFlameScan *flame,
							   bool is_diff);

#endif
