/*
 * agg_below_join.h
 *		ProfstoreAgg below joins: columnar rows are added up by the columns that joins compare, and
 *		joined as groups.
 */
#ifndef PFS_AGG_BELOW_JOIN_H
#define PFS_AGG_BELOW_JOIN_H

#include "profstore.h"

#include "nodes/pathnodes.h"

/*
 * Adds such paths to output, the grouping of the join input, for each columnar table whose rows are
 * all that the query aggregates; none where groups would not do for rows.
 */
void pfs_add_paths_below_join(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							  List *having);

#endif
