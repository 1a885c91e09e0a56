/*
 * call_graph.h
 *		Own costs of functions, and costs of calls with all that they bring about, to stacks. Knows
 *		no server header.
 *
 * Who called the caller is not known, so a function's cost is divided among its callers by what
 * their calls cost, and so on upwards: what gprof and viewers of such files assume, too. Own costs
 * stay exact, for each function and in sum: what is not divided, in recursion or below a ten
 * thousandth of all, stands below its most expensive callers, or alone if these stacks become too
 * many.
 */
#ifndef PFS_CALL_GRAPH_H
#define PFS_CALL_GRAPH_H

#include "formats/call_tree.h"

typedef struct PfsGraphFunction
{
	double called;	  /* cost of calls of it, by others */
	uint32_t calls;	  /* first of its own, or PFS_NONE */
	uint32_t caller;  /* the most expensive one, or PFS_NONE */
	double by_caller; /* what its call costs */
	bool is_open;	  /* it is on the stack at hand */
} PfsGraphFunction;

typedef struct PfsGraphCall
{
	double cost;   /* of the first type */
	uint32_t next; /* of the same caller, or PFS_NONE */
} PfsGraphCall;

typedef struct PfsCallGraph
{
	PfsCallTree *tree;
	PfsGraphFunction *functions; /* by location of the tree's profile */
	uint32_t function_count;
	int64_t *own;		/* type_count for each */
	int64_t *placed;	/* the same: what of it is in the tree */
	PfsPairIndex pairs; /* caller, callee: calls */
	PfsGraphCall *calls;
	uint32_t visits_left;
	uint32_t edges_left;
	uint64_t nodes_max;
	double floor;
} PfsCallGraph;

void pfs_graph_init(PfsCallGraph *graph, PfsCallTree *tree);
void pfs_graph_fini(PfsCallGraph *graph);

/* A function's own costs, for the caller to add to; NULL if memory runs out. */
int64_t *pfs_graph_own(PfsCallGraph *graph, uint32_t function);

/* Adds a cost of the first type to a call; false if memory runs out. */
bool pfs_graph_add_call(PfsCallGraph *graph, uint32_t caller, uint32_t callee, int64_t cost);

/* Puts all costs into the tree; false if memory runs out. */
bool pfs_graph_to_tree(PfsCallGraph *graph);

#endif
