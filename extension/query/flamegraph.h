/*
 * flamegraph.h
 *		The query behind every function that draws a flame graph.
 */
#ifndef PFS_FLAMEGRAPH_H
#define PFS_FLAMEGRAPH_H

#include "profstore.h"

#include "fmgr.h"
#include "query/flame_rows.h"

/*
 * Runs the query for a function whose arguments begin with (selector, from_ts, to_ts, max_nodes, inverted, focus,
 * ignore, show, hide). At least the root row. Lives in CurrentMemoryContext; nodes may be asked for their source.
 */
PfsFlameRows pfs_flamegraph_query(FunctionCallInfo fcinfo);

#endif
