/*
 * call_graph.h
 *		Converts own costs of functions, and inclusive costs of calls, to stacks. Includes no server
 *		header.
 *
 * The format does not contain the callers of a caller, so a function's cost is divided among its
 * callers in proportion to the costs of their calls, and so on upwards, as gprof and viewers of
 * such files assume, too. Own costs stay exact, per function and in total. Costs that are not
 * divided, because of recursion or below a ten thousandth of the total, are placed below the most
 * expensive callers, or alone if these stacks become too many.
 */
#ifndef PFS_CALL_GRAPH_H
#define PFS_CALL_GRAPH_H

#include "formats/call_tree.h"

typedef struct PfsGraphFunction
{
	double called;	  /* costs of calls from other functions */
	uint32_t calls;	  /* first call of the function in the list calls, or PFS_NONE */
	uint32_t caller;  /* the most expensive caller, or PFS_NONE */
	double by_caller; /* cost of the call by the most expensive caller */
	bool is_open;	  /* true while the function is on the current stack */
} PfsGraphFunction;

typedef struct PfsGraphCall
{
	double cost;   /* cost of the first event type */
	uint32_t next; /* next call of the same caller, or PFS_NONE */
} PfsGraphCall;

typedef struct PfsCallGraph
{
	PfsCallTree *tree;
	PfsGraphFunction *functions; /* functions by location of the tree's profile */
	uint32_t function_count;
	int64_t *own;		/* own costs, type_count for each function */
	int64_t *placed;	/* the part of own that is in the tree, type_count for each function */
	PfsPairIndex pairs; /* (caller, callee) to index in calls */
	PfsGraphCall *calls;
	uint32_t visits_left;
	uint32_t edges_left;
	uint64_t nodes_max;
	double floor;
} PfsCallGraph;

void pfs_graph_init(PfsCallGraph *graph, PfsCallTree *tree);
void pfs_graph_fini(PfsCallGraph *graph);

/* Returns a function's own costs, to which the caller adds; NULL if out of memory. */
int64_t *pfs_graph_own(PfsCallGraph *graph, uint32_t function);

/* Adds a cost of the first event type to a call. Returns false if out of memory. */
bool pfs_graph_add_call(PfsCallGraph *graph, uint32_t caller, uint32_t callee, int64_t cost);

/* Moves all costs into the tree. Returns false if out of memory. */
bool pfs_graph_to_tree(PfsCallGraph *graph);

#endif
