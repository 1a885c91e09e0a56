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
enter_node(Totals *totals, uint32 index)
{
	const PfsFrameNode *node = &totals->tree->nodes[index];
	PfsFunctionTotal *function = &totals->functions[node->symbol];

	if (function->node == NULL || node->oldest < function->node->oldest)
		function->node = node;
	function->self = pfs_add_sides(function->self, node->self);
	if (totals->open_frames[node->symbol]++ == 0)
		function->total = pfs_add_sides(function->total, node->total);
}

static void
walk_depth_first(Totals *totals)
{
	const PfsFrameNode *nodes = totals->tree->nodes;
	uint32 node = 0;

	do
	{
		uint32 next = nodes[node].child_count > 0 ? nodes[node].first_child : 0;

		while (next == 0 && node != 0)
		{
			totals->open_frames[nodes[node].symbol]--;
			next = pfs_frame_tree_sibling(totals->tree, node);
			node = nodes[node].parent;
		}
		node = next;
		if (node != 0)
			enter_node(totals, node);
	} while (node != 0);
}

uint32
pfs_function_totals(PfsFrameTree *tree, PfsFunctionTotal **functions)
{
	uint32 symbol_count = pfs_symbol_count(tree->symbols);
	Totals totals = { .tree = tree };
	uint32 count = 0;

	pfs_frame_tree_expand_all(tree);
	totals.functions = PFS_ARRAY0(PfsFunctionTotal, symbol_count);
	totals.open_frames = PFS_ARRAY0(uint32, symbol_count);
	walk_depth_first(&totals);
	for (uint32 symbol = 0; symbol < symbol_count; symbol++)
	{
		PfsFunctionTotal function = totals.functions[symbol];

		if (function.node == NULL)
			continue;
		function.name = pfs_symbol_name(tree->symbols, symbol);
		totals.functions[count++] = function;
	}
	pfree(totals.open_frames);
	*functions = totals.functions;
	return count;
}
