/*
 * function_totals.c
 *		One walk over the tree with a count of open frames per function.
 */
#include "query/function_totals.h"

#include "query/allocate.h"

typedef struct Totals
{
	const PfsFrameTree *tree;
	PfsFunctionTotal *functions; /* by symbol; node NULL where no node has that name */
	uint32 *open_frames; /* by symbol: nodes of that name from the root to where the walk is */
} Totals;

/* The totals of a frame count in its function only where no frame above it has the same name. */
static void
enter_node(void *state, uint32 index)
{
	Totals *totals = state;
	const PfsFrameNode *node = &totals->tree->nodes[index];
	PfsFunctionTotal *function = &totals->functions[node->symbol];

	if (function->node == NULL || node->oldest < function->node->oldest)
		function->node = node;
	function->self = pfs_add_sides(function->self, node->self);
	if (totals->open_frames[node->symbol]++ == 0)
		function->total = pfs_add_sides(function->total, node->total);
}

static void
leave_node(void *state, uint32 index)
{
	Totals *totals = state;

	totals->open_frames[totals->tree->nodes[index].symbol]--;
}

uint32
pfs_function_totals(PfsFrameTree *tree, PfsFunctionTotal **functions)
{
	uint32 symbol_count = pfs_symbol_count(tree->symbols);
	Totals totals = { .tree = tree };
	uint32 count = 0;

	totals.functions = PFS_ARRAY0(PfsFunctionTotal, symbol_count);
	totals.open_frames = PFS_ARRAY0(uint32, symbol_count);
	pfs_frame_tree_walk(tree, enter_node, leave_node, &totals);
	for (uint32 symbol = 0; symbol < symbol_count; symbol++)
	{
		PfsFunctionTotal function = totals.functions[symbol];

		if (function.node == NULL)
			continue;
		function.symbol = symbol;
		function.name = pfs_symbol_name(tree->symbols, symbol);
		totals.functions[count++] = function;
	}
	pfree(totals.open_frames);
	*functions = totals.functions;
	return count;
}
