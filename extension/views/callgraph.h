/*
 * callgraph.h
 *		Functions and the calls between them.
 */
#ifndef PFS_CALLGRAPH_H
#define PFS_CALLGRAPH_H

#include "profstore.h"

#include "lib/stringinfo.h"
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
 * The graph of the max_nodes functions of the largest totals (or PFS_NO_ROW_LIMIT). Reads the stream to its end, as often as it
 * needs; what it takes beside it goes with functions and edges. Lives in CurrentMemoryContext.
 */
PfsCallgraph pfs_callgraph_build(PfsStackStream *stream, const PfsFilters *filters,
								 uint32 max_nodes);

/* Appends the graph in the DOT language of Graphviz. */
void pfs_callgraph_dot(StringInfo dot, const PfsCallgraph *graph, const PfsSelection *selection);

#endif
