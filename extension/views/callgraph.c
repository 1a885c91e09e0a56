/*
 * callgraph.c
 *		callgraph() and callgraph_of(): the calls between functions, and their costs.
 *
 * A stack counts once for a call, even if it contains the call several times. The graph stays
 * connected: if max_nodes cuts all functions between two that are shown, an indirect edge joins the
 * two.
 */
#include "views/callgraph.h"

#include "utils/builtins.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "base/srf.h"
#include "dictionary/cache/dictionary.h"
#include "merge/merged.h"
#include "select/selection.h"
#include "tree/flame_rows.h"
#include "views/view.h"

enum
{
	COL_CALLER,
	COL_CALLEE,
	COL_VALUE,
	COL_SHARE,
	COL_INDIRECT,
	COL_COUNT
};

#define INITIAL_EDGES 1024
#define NO_EDGE		  PG_UINT32_MAX

typedef struct EdgeEntry
{
	uint64 key; /* symbol of the caller in the upper half, of the callee in the lower half */
	uint32 edge;
	char status;
} EdgeEntry;

#define SH_PREFIX		   edge_table
#define SH_ELEMENT_TYPE	   EdgeEntry
#define SH_KEY_TYPE		   uint64
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) pfs_hash64(k)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A frame on the path from the root to the frame that was entered last. */
typedef struct OpenFrame
{
	uint32 symbol;
	uint32 above; /* level of the nearest caller that is shown, 0: none */
	uint32 edge;  /* the edge whose callee is this frame, or NO_EDGE */
} OpenFrame;

typedef struct EdgeSum
{
	int128 value;
	uint32 open; /* number of frames on the path to which this edge leads */
} EdgeSum;

typedef struct Building
{
	PfsCallgraph *graph;
	bool folding; /* consecutive frames of one name are one frame, so no call lies between them */
	uint32 *shown_at; /* by symbol: 1 + its index in graph->functions; 0 if max_nodes cuts it */
	OpenFrame *path;  /* frames of the path by level; the root is at 0 */
	uint32 depth;
	uint32 path_capacity;
	EdgeSum *sums; /* sums of the edges, in the order of graph->edges */
	uint32 sum_capacity;
	uint32 edge_capacity; /* capacity of graph->edges */
	edge_table_hash *table;
} Building;

PG_FUNCTION_INFO_V1(profstore_callgraph);
PG_FUNCTION_INFO_V1(profstore_callgraph_of);

/* Orders functions by total, then self, both descending, then name. */
static int
callgraph_compare_functions(const void *a, const void *b)
{
	const PfsFunctionTotal *left = a;
	const PfsFunctionTotal *right = b;

	if (left->total.value != right->total.value)
		return left->total.value > right->total.value ? -1 : 1;
	if (left->self.value != right->self.value)
		return left->self.value > right->self.value ? -1 : 1;
	return strcmp(left->name, right->name);
}

static uint32
find_edge(Building *building, uint32 caller, uint32 callee)
{
	PfsCallgraph *graph = building->graph;
	bool found;
	EdgeEntry *entry = edge_table_insert(building->table, (uint64) caller << 32 | callee, &found);

	if (!found)
	{
		PFS_RESERVE(graph->edges, building->edge_capacity, (uint64) graph->edge_count + 1);
		PFS_RESERVE(building->sums, building->sum_capacity, (uint64) graph->edge_count + 1);
		entry->edge = graph->edge_count++;
		building->sums[entry->edge] = (EdgeSum){ 0, 0 };
		graph->edges[entry->edge] = (PfsCallEdge){ building->shown_at[caller] - 1,
												   building->shown_at[callee] - 1, 0, true };
	}
	return entry->edge;
}

static bool
is_shown(const Building *building, uint32 level)
{
	return level > 0 && building->shown_at[building->path[level].symbol] != 0;
}

/*
 * Enters a frame. If it is shown, it ends an edge from the nearest shown caller; with folding, a
 * frame with its caller's name makes no call.
 */
static void
callgraph_enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	Building *building = state;
	uint32 parent = building->depth++;
	bool parent_shown = is_shown(building, parent);
	OpenFrame *open;

	PFS_RESERVE(building->path, building->path_capacity, (uint64) building->depth + 1);
	open = &building->path[building->depth];
	*open = (OpenFrame){ frame.symbol, parent_shown ? parent : open[-1].above, NO_EDGE };
	if (building->folding && parent > 0 && open[-1].symbol == frame.symbol)
		open->above = open[-1].above;
	else if (open->above != 0 && building->shown_at[frame.symbol] != 0)
	{
		open->edge = find_edge(building, building->path[open->above].symbol, frame.symbol);
		building->graph->edges[open->edge].indirect &= !parent_shown;
		building->sums[open->edge].open++;
	}
}

/*
 * Leaves a frame. Its total is added to its edge only if no outer frame on the path ends the same
 * edge, so recursion counts once.
 */
static void
callgraph_leave_frame(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide)
{
	Building *building = state;
	uint32 at = building->path[building->depth--].edge;

	if (at != NO_EDGE && --building->sums[at].open == 0)
		building->sums[at].value += wide == NULL ? total.value : wide->value;
}

static void
callgraph_end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
}

/* Orders edges by descending value, then by the indexes of caller and callee. */
static int
compare_edges(const void *a, const void *b)
{
	const PfsCallEdge *left = a;
	const PfsCallEdge *right = b;

	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	if (left->caller != right->caller)
		return left->caller < right->caller ? -1 : 1;
	return (left->callee > right->callee) - (left->callee < right->callee);
}

/* Visits all stacks and fills in the edges between the functions that are shown. */
static void
find_edges(PfsCallgraph *graph, PfsStackVisit *visit, PfsSymbols *symbols)
{
	static const PfsFrameVisitor visitor = { callgraph_enter_frame, callgraph_leave_frame,
											 callgraph_end_stack };
	Building building = { .graph = graph,
						  .folding = pfs_filters_fold(pfs_symbols_filters(symbols)) };

	/*
	 * allocate the edges before the visit, which has a memory context of its own: an array grows in
	 * the context of its first allocation
	 */
	PFS_RESERVE(graph->edges, building.edge_capacity, INITIAL_EDGES);
	PFS_RESERVE(building.sums, building.sum_capacity, INITIAL_EDGES);
	PFS_RESERVE(building.path, building.path_capacity, INITIAL_EDGES);
	building.shown_at = PFS_ARRAY0(uint32, pfs_symbol_count(symbols));
	for (uint32 i = 0; i < graph->function_count; i++)
		building.shown_at[graph->functions[i].symbol] = i + 1;
	building.path[0] = (OpenFrame){ PFS_NO_SYMBOL, 0, NO_EDGE };
	building.table = edge_table_create(CurrentMemoryContext, INITIAL_EDGES, NULL);
	pfs_stack_visit_all(visit, &visitor, &building);
	for (uint32 i = 0; i < graph->edge_count; i++)
		graph->edges[i].value = pfs_clip(building.sums[i].value);
	qsort(graph->edges, graph->edge_count, sizeof(PfsCallEdge), compare_edges);
	edge_table_destroy(building.table);
	pfree(building.shown_at);
	pfree(building.path);
	pfree(building.sums);
}

/*
 * Builds the graph of the max_nodes functions with the largest totals (PFS_NO_ROW_LIMIT: of all).
 * Reads the stream twice: for the totals of the functions, then for the edges. The visit's other
 * memory is freed; the functions' names live as long as CurrentMemoryContext.
 */
static PfsCallgraph
build_graph(PfsStackStream *stream, const PfsFilters *filters, uint32 max_nodes)
{
	PfsCallgraph graph = { 0 };
	PfsStackVisit *visit;
	PfsSymbols *symbols;
	PfsSides whole;

	pfs_dictionary_begin();
	symbols = pfs_symbols_create(filters);
	pfs_stack_stream_keep(stream);
	visit = pfs_stack_visit_begin(stream, symbols);
	graph.function_count = pfs_function_totals_visit(visit, symbols, &graph.functions, &whole);
	graph.whole = whole.value;
	graph.function_count =
		pfs_function_totals_sort(graph.functions, graph.function_count,
								 max_nodes == PFS_NO_ROW_LIMIT ? PG_INT64_MAX : max_nodes,
								 callgraph_compare_functions);
	find_edges(&graph, visit, symbols);
	pfs_stack_visit_end(visit);
	return graph;
}

PfsCallgraph
pfs_callgraph_query(FunctionCallInfo fcinfo, const PfsSelection **selection)
{
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsStackStream *stream;
	PfsCallgraph graph;

	*selection = pfs_selection_get(fcinfo);
	stream = pfs_stack_stream_begin(*selection);
	graph = build_graph(stream, &filters, max_nodes);
	pfs_stack_stream_end(stream);
	if (graph.function_count == 0 && graph.whole == 0)
		pfs_selection_tell_empty(*selection);
	return graph;
}

/* Puts the edges of the graph as rows. */
static void
put_edges(const PfsResult *result, const PfsCallgraph *graph)
{
	for (uint32 i = 0; i < graph->edge_count; i++)
	{
		const PfsCallEdge *edge = &graph->edges[i];
		Datum values[COL_COUNT];
		bool nulls[COL_COUNT] = { false };

		values[COL_CALLER] = CStringGetTextDatum(graph->functions[edge->caller].name);
		values[COL_CALLEE] = CStringGetTextDatum(graph->functions[edge->callee].name);
		values[COL_VALUE] = Int64GetDatum(edge->value);
		values[COL_SHARE] =
			pfs_share_or_null((double) edge->value, (double) graph->whole, &nulls[COL_SHARE]);
		values[COL_INDIRECT] = BoolGetDatum(edge->indirect);
		pfs_result_put(result, values, nulls);
		pfree(DatumGetPointer(values[COL_CALLER]));
		pfree(DatumGetPointer(values[COL_CALLEE]));
	}
}

PGDLLEXPORT Datum
profstore_callgraph(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	const PfsSelection *selection;
	PfsCallgraph graph = pfs_callgraph_query(fcinfo, &selection);

	put_edges(&result, &graph);
	return (Datum) 0;
}

PGDLLEXPORT Datum
profstore_callgraph_of(PG_FUNCTION_ARGS)
{
	PfsResult result = pfs_result_begin(fcinfo);
	uint32 max_nodes = pfs_max_nodes_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	PfsStackStream *stream = pfs_merged_stream(fcinfo, "sums");
	PfsCallgraph graph = build_graph(stream, &filters, max_nodes);

	pfs_stack_stream_end(stream);
	put_edges(&result, &graph);
	return (Datum) 0;
}
