/*
 * function_costs.c
 *		Visits all frames once. Sums are doubles: they only choose the functions to test and their
 *		callers.
 */
#include "insight/function_costs.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "common/hashfn.h"
#include "insight/statistic/plain_name.h"
#include "tree/frames/frame_source.h"
#include "tree/stack_visit.h"

typedef struct NameEntry
{
	const char *name;
	uint32 function;
	uint32 hash;
	char status;
} NameEntry;

#define SH_PREFIX		   plain_names
#define SH_ELEMENT_TYPE	   NameEntry
#define SH_KEY_TYPE		   const char *
#define SH_KEY			   name
#define SH_HASH_KEY(tb, k) hash_bytes((const unsigned char *) (k), (int) strlen(k))
#define SH_EQUAL(tb, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) ((a)->hash)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct CallEntry
{
	uint64 key; /* callee << 32 | caller */
	PfsCost cost;
	char status;
} CallEntry;

#define SH_PREFIX		   calls
#define SH_ELEMENT_TYPE	   CallEntry
#define SH_KEY_TYPE		   uint64
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) pfs_hash64(k)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define INITIAL_NAMES 1024

/*
 * The location at which a function was first found, for its file; and the number of its frames on
 * the current path.
 */
typedef struct Origin
{
	uint64 age;
	int32 location;
	uint32 line;
	uint32 open;
} Origin;

typedef struct Costs
{
	MemoryContext context;
	PfsFunctionCosts *result;
	PfsSymbols *symbols;
	plain_names_hash *names;
	calls_hash *calls;
	Origin *origins; /* origins by function */
	uint32 capacity; /* functions for which there is room */
	uint32 origin_capacity;
	uint32 symbol_capacity;
	uint32 *path; /* functions from the root to the current frame */
	uint32 depth;
	uint32 path_capacity;
} Costs;

static inline void
cost_add(PfsCost *cost, PfsSides sides)
{
	cost->value += (double) sides.value;
	cost->base += (double) sides.base;
}

/* Assigns the number of a symbol's function, which it shares with symbols of equal plain name. */
static pg_noinline uint32
costs_number_symbol(Costs *costs, uint32 symbol)
{
	PfsFunctionCosts *result = costs->result;
	MemoryContext caller = MemoryContextSwitchTo(costs->context);
	const char *name = pfs_symbol_name(costs->symbols, symbol);
	/* A plain name is never longer than the name. */
	char *plain = palloc(strlen(name) + 1);
	NameEntry *entry;
	bool found;

	PFS_RESERVE(result->of_symbol, costs->symbol_capacity, (uint64) symbol + 1);
	/* Symbols may be met in any order, so those between have no function yet. */
	for (; result->symbol_count <= symbol; result->symbol_count++)
		result->of_symbol[result->symbol_count] = PFS_NO_FUNCTION;
	pfs_plain_name(name, strlen(name), plain);
	entry = plain_names_insert(costs->names, plain, &found);
	if (!found)
	{
		PFS_RESERVE(result->functions, costs->capacity, (uint64) result->count + 1);
		PFS_RESERVE(costs->origins, costs->origin_capacity, (uint64) result->count + 1);
		result->functions[result->count] = (PfsFunctionCost){ .name = plain };
		/* Every age is less than this one, so the first location replaces it. */
		costs->origins[result->count] = (Origin){ .age = PG_UINT64_MAX };
		entry->function = result->count++;
	}
	MemoryContextSwitchTo(caller);
	return result->of_symbol[symbol] = entry->function;
}

static void
costs_enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	Costs *costs = state;
	uint32 function = pfs_function_of_symbol(costs->result, frame.symbol);
	Origin *origin;

	if (function == PFS_NO_FUNCTION)
		function = costs_number_symbol(costs, frame.symbol);
	origin = &costs->origins[function];
	/* Counts the frames of the function on the path, see costs_leave_frame(). */
	origin->open++;
	/* The oldest location gives the file, so the result does not depend on the order of visits. */
	if (age < origin->age)
		*origin = (Origin){ age, location, frame.line, origin->open };
	PFS_RESERVE_IN(costs->context, costs->path, costs->path_capacity, (uint64) costs->depth + 1);
	costs->path[costs->depth++] = function;
}

/* Adds to the function and the call, unless a frame above belongs to the same function. */
static void
costs_leave_frame(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide)
{
	Costs *costs = state;
	uint32 function = costs->path[--costs->depth];
	uint32 caller = costs->depth == 0 ? PFS_NO_FUNCTION : costs->path[costs->depth - 1];
	CallEntry *call;
	bool found;

	if (--costs->origins[function].open > 0)
		return;
	/* Sums beyond int64 become its bounds. */
	if (wide != NULL)
		total = pfs_clip_sides(wide);
	cost_add(&costs->result->functions[function].total, total);
	/* The outermost frame has the caller PFS_NO_FUNCTION. */
	call = calls_insert(costs->calls, (uint64) function << 32 | caller, &found);
	if (!found)
		call->cost = (PfsCost){ 0, 0 };
	cost_add(&call->cost, total);
}

static void
costs_end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
	Costs *costs = state;

	if (symbol != PFS_NO_SYMBOL)
		cost_add(&costs->result->functions[pfs_function_of_symbol(costs->result, symbol)].self,
				 value);
}

static const PfsFrameVisitor visitor = { costs_enter_frame, costs_leave_frame, costs_end_stack };

static int
compare_calls(const void *a, const void *b)
{
	const PfsCallCost *left = a;
	const PfsCallCost *right = b;

	if (left->callee != right->callee)
		return left->callee < right->callee ? -1 : 1;
	return (left->caller > right->caller) - (left->caller < right->caller);
}

static void
costs_list_calls(Costs *costs)
{
	PfsFunctionCosts *result = costs->result;
	calls_iterator iterator;
	CallEntry *entry;

	result->calls = PFS_ARRAY(PfsCallCost, costs->calls->members);
	calls_start_iterate(costs->calls, &iterator);
	while ((entry = calls_iterate(costs->calls, &iterator)) != NULL)
		result->calls[result->call_count++] = (PfsCallCost){ .callee = (uint32) (entry->key >> 32),
															 .caller = (uint32) entry->key,
															 .cost = entry->cost };
	calls_destroy(costs->calls);
	pfs_calls_sort(result);
}

PfsCost
pfs_costs_whole(const PfsFunctionCosts *costs)
{
	PfsCost whole = { 0, 0 };

	for (uint32 i = 0; i < costs->count; i++)
	{
		whole.base += costs->functions[i].self.base;
		whole.value += costs->functions[i].self.value;
	}
	return whole;
}

/* Sorts by callee, which are numbers below costs->count, in two passes. */
static void
calls_sort_by_callee(PfsFunctionCosts *costs)
{
	uint32 *ends = PFS_ARRAY0(uint32, (Size) costs->count + 1);
	PfsCallCost *sorted = PFS_ARRAY(PfsCallCost, costs->call_count);

	/*
	 * Counting sort: ends[n] becomes the place at which the calls of function n begin, and then
	 * moves to their end.
	 */
	for (uint32 i = 0; i < costs->call_count; i++)
		ends[costs->calls[i].callee + 1]++;
	for (uint32 i = 1; i <= costs->count; i++)
		ends[i] += ends[i - 1];
	for (uint32 i = 0; i < costs->call_count; i++)
		sorted[ends[costs->calls[i].callee]++] = costs->calls[i];
	pfree(costs->calls);
	pfree(ends);
	costs->calls = sorted;
}

void
pfs_calls_sort(PfsFunctionCosts *costs)
{
	uint32 kept = 0;

	calls_sort_by_callee(costs);
	/* Each function has few callers, so their order costs little. */
	for (uint32 first = 0, end; first < costs->call_count; first = end)
	{
		for (end = first + 1;
			 end < costs->call_count && costs->calls[end].callee == costs->calls[first].callee;)
			end++;
		qsort(costs->calls + first, end - first, sizeof(PfsCallCost), compare_calls);
	}
	for (uint32 i = 0; i < costs->call_count; i++)
	{
		/* Joined functions may have equal calls. */
		if (kept == 0 || compare_calls(&costs->calls[kept - 1], &costs->calls[i]) != 0)
		{
			costs->calls[kept++] = costs->calls[i];
			continue;
		}
		costs->calls[kept - 1].cost.base += costs->calls[i].cost.base;
		costs->calls[kept - 1].cost.value += costs->calls[i].cost.value;
	}
	costs->call_count = kept;
}

PfsFunctionCosts *
pfs_function_costs(PfsStackStream *stream, PfsSymbols *symbols)
{
	Costs costs = { .context = CurrentMemoryContext,
					.result = palloc0(sizeof(PfsFunctionCosts)),
					.symbols = symbols,
					.names = plain_names_create(CurrentMemoryContext, INITIAL_NAMES, NULL),
					.calls = calls_create(CurrentMemoryContext, INITIAL_NAMES, NULL) };
	PfsStackVisit *visit = pfs_stack_visit_begin(stream, symbols);

	pfs_stack_visit_all(visit, &visitor, &costs);
	pfs_stack_visit_end(visit);
	costs_list_calls(&costs);
	for (uint32 i = 0; i < costs.result->count; i++)
	{
		PfsFrameSource source = pfs_frame_source(costs.origins[i].location, costs.origins[i].line);

		/* Mappings are compared by strcmp(), so each function has a text. */
		costs.result->functions[i].mapping = source.mapping == NULL ? "" : source.mapping;
		costs.result->functions[i].file = source.file;
	}
	return costs.result;
}

const PfsCallCost *
pfs_calls_of(const PfsFunctionCosts *costs, uint32 callee, uint32 *count)
{
	uint32 first = 0;
	uint32 end = costs->call_count;

	PFS_BISECT(first, end, middle, costs->calls[middle].callee < callee);
	for (end = first; end < costs->call_count && costs->calls[end].callee == callee; end++)
		continue;
	*count = end - first;
	return &costs->calls[first];
}
