/*
 * call_graph.c
 *		Builds stacks from the functions that are never called down to the called ones, then places
 *		the remaining costs.
 */
#include "formats/callgrind/call_graph.h"

#include <math.h>

/* A call whose cost is less than one part in this many of all costs is not followed. */
#define PARTS 10000

/* Limits of the work for all stacks, because a file may claim any costs of calls. */
#define VISITS_MAX (1 << 17)
#define EDGES_MAX  (1 << 22) /* calls that are examined */
#define DEPTH_MAX  256

/* Limit of nodes per function beyond the stacks; further costs are placed without callers. */
#define NODES_PER_FUNCTION 8

void
pfs_graph_init(PfsCallGraph *graph, PfsCallTree *tree)
{
	*graph = (PfsCallGraph){ .tree = tree };
	pfs_pairs_init(&graph->pairs, tree->profile->budget);
}

void
pfs_graph_fini(PfsCallGraph *graph)
{
	PfsAllocator allocator = graph->tree->profile->budget->allocator;
	void *arrays[] = { graph->functions, graph->own, graph->placed, graph->calls };

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (arrays[i] != NULL)
			allocator.realloc(allocator.context, arrays[i], 0);
	pfs_pairs_fini(&graph->pairs);
}

/* Adds entries for all locations up to this one, because locations are created one by one. */
static bool
add_functions(PfsCallGraph *graph, uint32_t function)
{
	PfsProfile *profile = graph->tree->profile;

	for (; graph->function_count <= function; graph->function_count++)
	{
		size_t first = (size_t) graph->function_count * profile->type_count;

		if (!PFS_GROW(profile->budget, graph->functions, graph->function_count))
			return false;
		graph->functions[graph->function_count] =
			(PfsGraphFunction){ .calls = PFS_NONE, .caller = PFS_NONE };
		for (uint32_t i = 0; i < profile->type_count; i++)
		{
			/*
			 * PFS_GROW() must be called for each entry, so the values of a function are added one
			 * by one.
			 */
			if (!PFS_GROW(profile->budget, graph->own, first + i) ||
				!PFS_GROW(profile->budget, graph->placed, first + i))
				return false;
			graph->own[first + i] = 0;
			graph->placed[first + i] = 0;
		}
	}
	return true;
}

int64_t *
pfs_graph_own(PfsCallGraph *graph, uint32_t function)
{
	return add_functions(graph, function)
			   ? &graph->own[(size_t) function * graph->tree->profile->type_count]
			   : NULL;
}

/* Calls with the same caller and callee are summed up. */
bool
pfs_graph_add_call(PfsCallGraph *graph, uint32_t caller, uint32_t callee, int64_t cost)
{
	uint32_t before = graph->pairs.count;
	uint32_t call;

	if (!add_functions(graph, caller > callee ? caller : callee))
		return false;
	/* the cost of a recursive call is already part of the function's own costs */
	if (caller == callee)
		return true;
	/* The number of a pair is the index of its call. */
	call = pfs_pair_number(&graph->pairs, caller, callee);
	if (call == PFS_NONE ||
		(call == before && !PFS_GROW(graph->tree->profile->budget, graph->calls, before)))
		return false;
	if (call == before)
	{
		/* The list of a caller's calls is linked, newest first. */
		graph->calls[call] = (PfsGraphCall){ 0, graph->functions[caller].calls };
		graph->functions[caller].calls = call;
	}
	/* Sums are double: a hostile file may claim any costs, and proportions suffice. */
	graph->calls[call].cost += (double) cost;
	graph->functions[callee].called += (double) cost;
	return true;
}

static void
find_callers(PfsCallGraph *graph)
{
	for (uint32_t i = 0; i < graph->pairs.count; i++)
	{
		/* The upper half of a pair is the caller, the lower half the callee. */
		uint32_t caller = (uint32_t) (graph->pairs.pairs[i] >> 32);
		PfsGraphFunction *callee = &graph->functions[(uint32_t) graph->pairs.pairs[i]];

		/*
		 * Of several callers the most expensive one is kept, the first of equally expensive ones.
		 */
		if (callee->caller != PFS_NONE && callee->by_caller >= graph->calls[i].cost)
			continue;
		callee->caller = caller;
		callee->by_caller = graph->calls[i].cost;
	}
}

/* Removes calls that are too cheap to be followed for every caller. */
static void
drop_cheap_calls(PfsCallGraph *graph)
{
	/* The lists are built anew with the calls that are worth following. */
	for (uint32_t i = 0; i < graph->function_count; i++)
		graph->functions[i].calls = PFS_NONE;
	for (uint32_t i = 0; i < graph->pairs.count; i++)
	{
		PfsGraphFunction *caller = &graph->functions[graph->pairs.pairs[i] >> 32];

		if (graph->calls[i].cost <= 0 || graph->calls[i].cost < graph->floor)
			continue;
		graph->calls[i].next = caller->calls;
		caller->calls = i;
	}
}

/* Adds a part of a function's own costs to a node, at most those that are not placed yet. */
static void
place(PfsCallGraph *graph, uint32_t function, uint32_t node, double part)
{
	uint32_t count = graph->tree->profile->type_count;
	int64_t *values = pfs_calls_values(graph->tree, node);

	for (uint32_t i = 0; i < count; i++)
	{
		int64_t own = graph->own[(size_t) function * count + i];
		int64_t *placed = &graph->placed[(size_t) function * count + i];
		int64_t left = own - *placed;
		double wanted = nearbyint((double) own * part);
		/*
		 * Parts may add up to more than 1, and rounding to more than own, so no more than what is
		 * left is moved.
		 */
		int64_t moved = wanted >= (double) left ? left : (int64_t) wanted;

		values[i] += moved;
		*placed += moved;
	}
}

/* A function on the current stack. */
typedef struct Visit
{
	uint32_t function;
	uint32_t node;
	uint32_t call; /* the next call to follow */
	double part;   /* part of the function's costs that belongs to this stack */
} Visit;

typedef struct Stack
{
	Visit visits[DEPTH_MAX];
	int depth;
} Stack;

/* Pushes a function, called by the innermost one or by the root. Returns false if out of memory. */
static bool
open_function(PfsCallGraph *graph, Stack *stack, uint32_t root, uint32_t function, double part)
{
	/* The list of calls is walked by at->call, which makes recursion unnecessary. */
	Visit visit = { .function = function, .call = graph->functions[function].calls, .part = part };

	visit.node = stack->depth == 0
					 ? pfs_calls_top(graph->tree, root, function)
					 : pfs_calls_child(graph->tree, stack->visits[stack->depth - 1].node, function);
	if (visit.node == PFS_NONE)
		return false;
	/* An open function is on the stack, see is_worth(). */
	graph->functions[function].is_open = true;
	place(graph, function, visit.node, part);
	stack->visits[stack->depth++] = visit;
	return true;
}

/* Returns true if a call of the given cost must be followed. */
static bool
is_worth(PfsCallGraph *graph, const Stack *stack, uint32_t callee, double cost)
{
	/* A function that is open already would be recursion, which could go on forever. */
	return !graph->functions[callee].is_open && cost > 0 && cost >= graph->floor &&
		   stack->depth < DEPTH_MAX && graph->visits_left > 0;
}

/*
 * Places costs along the calls of a function that is never called, depth first, with a stack of its
 * own.
 */
static bool
place_below(PfsCallGraph *graph, Stack *stack, uint32_t root, uint32_t function)
{
	stack->depth = 0;
	if (!open_function(graph, stack, root, function, 1))
		return false;
	while (stack->depth > 0)
	{
		Visit *at = &stack->visits[stack->depth - 1];
		uint32_t call = at->call;
		uint32_t callee;
		double cost;

		pfs_pause(graph->tree->profile->budget->pause);
		/*
		 * All calls of the innermost function have been followed, or the limit of examined calls is
		 * reached.
		 */
		if (call == PFS_NONE || graph->edges_left == 0)
		{
			graph->functions[at->function].is_open = false;
			stack->depth--;
			continue;
		}
		graph->edges_left--;
		at->call = graph->calls[call].next;
		callee = (uint32_t) graph->pairs.pairs[call];
		/* The call's cost for all stacks, reduced to the part that belongs to this stack. */
		cost = graph->calls[call].cost * at->part;
		if (!is_worth(graph, stack, callee, cost))
			continue;
		graph->visits_left--;
		/* The part of the callee's costs that this stack gets; rounding may bring it above 1. */
		if (!open_function(graph, stack, root, callee,
						   fmin(cost / graph->functions[callee].called, 1)))
			return false;
	}
	return true;
}

static bool
is_placed(const PfsCallGraph *graph, uint32_t function)
{
	uint32_t count = graph->tree->profile->type_count;
	size_t first = (size_t) function * count;

	for (uint32_t i = 0; i < count; i++)
		if (graph->own[first + i] != graph->placed[first + i])
			return false;
	return true;
}

/*
 * Places the remaining costs of a function below its most expensive caller, that one's most
 * expensive caller, and so on up to the first repetition. If the tree has too many nodes already,
 * places them without callers.
 */
static bool
place_rest(PfsCallGraph *graph, uint32_t root, uint32_t function)
{
	uint32_t chain[DEPTH_MAX];
	uint32_t node = PFS_NONE;
	int depth = 0;
	/* One function per stack once the tree has too many nodes. */
	int depth_max = graph->tree->index.count < graph->nodes_max ? DEPTH_MAX : 1;

	pfs_pause(graph->tree->profile->budget->pause);
	for (uint32_t at = function;
		 at != PFS_NONE && depth < depth_max && !graph->functions[at].is_open;
		 at = graph->functions[at].caller)
	{
		/* is_open marks functions of the chain, which ends at the first repetition. */
		graph->functions[at].is_open = true;
		chain[depth++] = at;
	}
	/* The chain goes from callee to caller, so the tree is built from its end. */
	while (depth-- > 0)
	{
		graph->functions[chain[depth]].is_open = false;
		node = node == PFS_NONE ? pfs_calls_top(graph->tree, root, chain[depth])
								: pfs_calls_child(graph->tree, node, chain[depth]);
		if (node == PFS_NONE)
			return false;
	}
	/* place() moves at most the costs that are left, so the part may be 1. */
	place(graph, function, node, 1);
	return true;
}

bool
pfs_graph_to_tree(PfsCallGraph *graph)
{
	uint32_t root = pfs_calls_root(graph->tree);
	uint32_t count = graph->tree->profile->type_count;
	double total = 0;
	Stack stack;

	if (root == PFS_NONE)
		return false;
	for (uint32_t i = 0; i < graph->function_count; i++)
		/* The floor follows from the first event, by which calls are weighed. */
		total += (double) graph->own[(size_t) i * count];
	graph->floor = total / PARTS;
	graph->visits_left = VISITS_MAX;
	graph->edges_left = EDGES_MAX;
	graph->nodes_max = VISITS_MAX + (uint64_t) graph->function_count * NODES_PER_FUNCTION;
	find_callers(graph);
	drop_cheap_calls(graph);
	/* 1. Functions that nobody calls are the tops of stacks. */
	for (uint32_t i = 0; i < graph->function_count; i++)
		if (graph->functions[i].called <= 0 && !place_below(graph, &stack, root, i))
			return false;
	/* 2. Functions in cycles without a top, and costs below the floor or beyond a limit. */
	for (uint32_t i = 0; i < graph->function_count; i++)
		if (!is_placed(graph, i) && !place_rest(graph, root, i))
			return false;
	return true;
}
