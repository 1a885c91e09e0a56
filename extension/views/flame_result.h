/*
 * flame_result.h
 *		Nodes as rows of Grafana's flame-graph panel.
 */
#ifndef PFS_FLAME_RESULT_H
#define PFS_FLAME_RESULT_H

#include "profstore.h"

#include "base/srf.h"
#include "tree/flame_rows.h"
#include "tree/frame_source.h"

/*
 * One row. In a comparison value and self are the base's, and what it is compared with stands in
 * two columns more.
 */
void pfs_flame_result_put(const PfsResult *result, PfsSourceTable *sources, int32 ord,
						  const PfsFlameRow *row, bool is_diff);

/* All rows that are left, the first of them with the ordinal ord; returns the next ordinal. */
int32 pfs_flame_result_put_all(const PfsResult *result, int32 ord, PfsFlameScan *flame,
							   bool is_diff);

#endif
