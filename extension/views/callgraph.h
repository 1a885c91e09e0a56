/*
 * callgraph.h
 *		Functions and the calls between them.
 */
#ifndef PFS_CALLGRAPH_H
#define PFS_CALLGRAPH_H

#include "profstore.h"

#include "fmgr.h"

#include "select/selection.h"
#include "tree/function_totals.h"

typedef struct PfsCallEdge
{
	uint32 caller; /* places in functions */
	uint32 callee;
	int64 value;   /* of the stacks that make the call; each counts once */
	bool indirect; /* always through functions that are cut */
} PfsCallEdge;

typedef struct PfsCallgraph
{
	int64 whole; /* value of all stacks */
	uint32 function_count;
	PfsFunctionTotal *functions; /* by falling total, then self, then name */
	uint32 edge_count;
	PfsCallEdge *edges; /* by falling value */
} PfsCallgraph;

/*
 * Reads the arguments selector, from_ts, to_ts, max_nodes, the filters and granularity, and makes
 * the graph of the max_nodes functions of the largest totals. Lives in CurrentMemoryContext.
 */
PfsCallgraph pfs_callgraph_query(FunctionCallInfo fcinfo, const PfsSelection **selection);

#endif
