/*
 * flamegraph.h
 *		The query of every function that draws a flame graph.
 */
#ifndef PFS_FLAMEGRAPH_H
#define PFS_FLAMEGRAPH_H

#include "profstore.h"

#include "fmgr.h"

#include "select/selection.h"
#include "tree/flame_rows.h"

typedef struct PfsFlamegraph
{
	const PfsSelection *selection;
	bool inverted;
	PfsFrameTree *tree;
	PfsFlameScan *rows; /* at least the row of the root */
} PfsFlamegraph;

/*
 * Reads the arguments selector, from_ts, to_ts, trace, span, max_nodes, inverted, the filters,
 * granularity and by, an array of the labels whose values come before the first frame. Lives in
 * CurrentMemoryContext; the caller ends it after the last row.
 */
PfsFlamegraph pfs_flamegraph_query(FunctionCallInfo fcinfo);
void pfs_flamegraph_end(PfsFlamegraph *flame);

#endif
