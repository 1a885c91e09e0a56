/*
 * flamegraph.h
 *		The query behind every function that draws a flame graph.
 */
#ifndef PFS_FLAMEGRAPH_H
#define PFS_FLAMEGRAPH_H

#include "profstore.h"

#include "fmgr.h"
#include "utils/array.h"

#include "select/selection.h"
#include "tree/flame_rows.h"

/*
 * First arguments of such a function, with those of pfs_frame_filters_get from
 * PFS_FLAME_ARG_FILTERS on.
 */
enum
{
	PFS_FLAME_ARG_SELECTOR = 0,
	PFS_FLAME_ARG_MAX_NODES = 3,
	PFS_FLAME_ARG_INVERTED = 4,
	PFS_FLAME_ARG_FILTERS = 5,
	PFS_FLAME_ARG_COUNT = 10
};

typedef struct PfsFlamegraph
{
	const PfsSelection *selection;
	bool inverted;
	PfsFrameTree *tree;
	PfsFlameScan *rows; /* at least the root's */
} PfsFlamegraph;

/*
 * Lives in CurrentMemoryContext. by has names of labels whose values come before the first frame;
 * NULL: none. Has to be ended behind the last row.
 */
PfsFlamegraph pfs_flamegraph_query(FunctionCallInfo fcinfo, ArrayType *by);
void pfs_flamegraph_end(PfsFlamegraph *flame);

#endif
