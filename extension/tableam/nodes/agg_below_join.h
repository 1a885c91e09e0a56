/*
 * agg_below_join.h
 *		ProfstoreAgg below joins: rows of a columnar table are summed by the columns that the
 *		joins compare, and joined as groups.
 */
#ifndef PFS_AGG_BELOW_JOIN_H
#define PFS_AGG_BELOW_JOIN_H

#include "profstore.h"

#include "nodes/pathnodes.h"

/*
 * Adds paths of ProfstoreAgg below joins to output, which is the grouping of the join input. Adds
 * them for each columnar table whose columns are the only ones that the query aggregates. Adds none
 * if groups cannot replace rows.
 */
void pfs_add_paths_below_join(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							  List *having);

#endif
