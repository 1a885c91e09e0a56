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
	uint32 caller; /* indexes in functions */
	uint32 callee;
	int64 value;   /* sum over the stacks that make the call, each counted once */
	bool indirect; /* every such call passes through functions that max_nodes cuts */
} PfsCallEdge;

typedef struct PfsCallgraph
{
	int64 whole; /* sum over all stacks that pass the filters */
	uint32 function_count;
	PfsFunctionTotal *functions; /* sorted by total, then self, both descending, then name */
	uint32 edge_count;
	PfsCallEdge *edges; /* sorted by value, descending */
} PfsCallgraph;

/*
 * Reads the arguments selector, from_ts, to_ts, max_nodes, the filters and granularity, and makes
 * the graph of the max_nodes functions of the largest totals. Lives in CurrentMemoryContext.
 */
PfsCallgraph pfs_callgraph_query(FunctionCallInfo fcinfo, const PfsSelection **selection);

#endif
