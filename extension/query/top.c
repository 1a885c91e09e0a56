/*
 * top.c
 *		top(): functions by what they cost.
 */
#include "query/frame_tree.h"

#include "query/allocate.h"
#include "query/srf.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_MAX_ROWS = 3,
	ARG_FILTERS
};

enum
{
	COL_FUNCTION,
	COL_SELF,
	COL_TOTAL,
	COL_SELF_SHARE,
	COL_TOTAL_SHARE,
	COL_FILE,
	COL_BINARY,
	COL_COUNT
};

typedef struct FunctionTotal
{
	const char *name;
	const PfsFrameNode *node; /* the first of this function */
	int64 self;
	int64 total;
} FunctionTotal;

PG_FUNCTION_INFO_V1(profstore_top);

/*
 * For each node, whether no node above it has its symbol: a frame that recurs counts once in its function's total.
 *
 * Walks depth first with a count of open frames per symbol. Children are chained in lists, since nodes stand
 * parents first but not in the order of the walk.
 */
static bool *
find_outermost(const PfsFrameTree *tree)
{
	bool *outermost = PFS_ARRAY0(bool, tree->count);
	uint32 *first_child = PFS_ARRAY0(uint32, tree->count);
	uint32 *next_sibling = PFS_ARRAY0(uint32, tree->count);
	uint32 *open_frames = PFS_ARRAY0(uint32, pfs_symbol_count(tree->symbols));
	uint32 node;

	for (uint32 i = tree->count - 1; i > 0; i--)
	{
		next_sibling[i] = first_child[tree->nodes[i].parent];
		first_child[tree->nodes[i].parent] = i;
	}
	for (node = first_child[0]; node != 0;)
	{
		outermost[node] = open_frames[tree->nodes[node].symbol]++ == 0;
		if (first_child[node] != 0)
		{
			node = first_child[node];
			continue;
		}
		for (;;)
		{
			open_frames[tree->nodes[node].symbol]--;
			if (next_sibling[node] != 0)
			{
				node = next_sibling[node];
				break;
			}
			node = tree->nodes[node].parent;
			if (node == 0)
				break;
		}
	}
	pfree(first_child);
	pfree(next_sibling);
	pfree(open_frames);
	return outermost;
}

/* Totals of all functions, indexed by symbol; those without a node (hidden) have node NULL. */
static FunctionTotal *
sum_functions(const PfsFrameTree *tree)
{
	bool *outermost = find_outermost(tree);
	FunctionTotal *functions = PFS_ARRAY0(FunctionTotal, pfs_symbol_count(tree->symbols));

	for (uint32 i = 1; i < tree->count; i++)
	{
		const PfsFrameNode *node = &tree->nodes[i];
		FunctionTotal *function = &functions[node->symbol];

		if (function->node == NULL)
		{
			function->node = node;
			function->name = pfs_symbol_name(tree->symbols, node->symbol);
		}
		function->self = pfs_add_values(function->self, node->self);
		if (outermost[i])
			function->total = pfs_add_values(function->total, node->total);
	}
	pfree(outermost);
	return functions;
}

/* By falling self, then total, then name. */
static int
compare_functions(const void *a, const void *b)
{
	const FunctionTotal *left = a;
	const FunctionTotal *right = b;

	if (left->self != right->self)
		return left->self > right->self ? -1 : 1;
	if (left->total != right->total)
		return left->total > right->total ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void
put_row(const PfsRows *rows, const FunctionTotal *function, int64 whole)
{
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT] = { false };
	PfsFrameSource source = pfs_frame_source(function->node);

	values[COL_FUNCTION] = pfs_text_or_null(function->name, &nulls[COL_FUNCTION]);
	values[COL_SELF] = Int64GetDatum(function->self);
	values[COL_TOTAL] = Int64GetDatum(function->total);
	nulls[COL_SELF_SHARE] = nulls[COL_TOTAL_SHARE] = whole == 0;
	values[COL_SELF_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->self / (double) whole);
	values[COL_TOTAL_SHARE] =
		Float8GetDatum(whole == 0 ? 0 : (double) function->total / (double) whole);
	values[COL_FILE] = pfs_text_or_null(source.file, &nulls[COL_FILE]);
	values[COL_BINARY] = pfs_text_or_null(source.binary, &nulls[COL_BINARY]);
	pfs_rows_put(rows, values, nulls);
}

/*
 * top(selector, from_ts, to_ts, max_rows, focus, ignore, show, hide)
 */
PGDLLEXPORT Datum
profstore_top(PG_FUNCTION_ARGS)
{
	PfsRows rows = pfs_rows_begin(fcinfo);
	int64 max_rows = PG_ARGISNULL(ARG_MAX_ROWS) ? PG_INT64_MAX : PG_GETARG_INT32(ARG_MAX_ROWS);
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_filters_get(fcinfo, ARG_FILTERS);
	PfsFrameTree *tree;
	FunctionTotal *functions;
	uint32 count = 0;

	if (max_rows < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_rows must not be negative"),
				 errhint("NULL takes the limit away.")));
	tree = pfs_frame_tree_query(selection, &filters, false);
	functions = sum_functions(tree);
	for (uint32 i = 0; i < pfs_symbol_count(tree->symbols); i++)
	{
		if (functions[i].node != NULL)
			functions[count++] = functions[i];
	}
	qsort(functions, count, sizeof(FunctionTotal), compare_functions);
	for (uint32 i = 0; i < count && i < max_rows; i++)
		put_row(&rows, &functions[i], tree->nodes[0].total);
	return (Datum) 0;
}
