/*
 * function_totals.c
 *		Visits all frames once, and counts the open frames of each function.
 */
#include "tree/function_totals.h"

#include "lib/binaryheap.h"

#include "base/arrays.h"
#include "dictionary/cache/dictionary.h"
#include "merge/carries.h"

typedef struct Function
{
	PfsSides self; /* modulo 2^64; also total */
	PfsSides total;
	/* least age (see PfsStep) of the frames with this name so far; NO_AGE: there was none */
	uint64 age;
	int32 location;
	uint32 line;
	uint32 open; /* number of frames of that name on the path from the root to the current frame */
} Function;

#define NO_AGE PG_UINT64_MAX

typedef struct Totals
{
	MemoryContext context;
	Function *functions; /* functions by symbol */
	uint32 capacity;
	PfsCarries carries; /* by (sum, symbol) */
} Totals;

/* The sums of a function. */
enum
{
	SELF,
	SELF_BASE,
	TOTAL,
	TOTAL_BASE
};

static inline void
add_sides(Totals *totals, PfsSides *sum, PfsSides more, int32 which, uint32 symbol)
{
	pfs_add_carrying(&sum->value, more.value, &totals->carries, which, symbol);
	pfs_add_carrying(&sum->base, more.base, &totals->carries, which + 1, symbol);
}

static PfsSides
clip_sides(const Totals *totals, PfsSides sum, int32 which, uint32 symbol)
{
	return (PfsSides){ pfs_clip(pfs_with_carry(&totals->carries, which, symbol, sum.value)),
					   pfs_clip(pfs_with_carry(&totals->carries, which + 1, symbol, sum.base)) };
}

/* Enlarges the array functions, because new symbols are made as frames are met. */
static pg_noinline void
totals_grow(Totals *totals, uint32 symbol)
{
	uint32 known = totals->capacity;

	PFS_RESERVE_IN(totals->context, totals->functions, totals->capacity, (uint64) symbol + 1);
	for (uint32 i = known; i < totals->capacity; i++)
		totals->functions[i] = (Function){ .age = NO_AGE };
}

static void
totals_enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	Totals *totals = state;
	Function *function;

	if (frame.symbol >= totals->capacity)
		totals_grow(totals, frame.symbol);
	function = &totals->functions[frame.symbol];
	function->open++;
	/* The oldest frame gives location and line, whatever the order of the visit. */
	if (age < function->age)
	{
		function->age = age;
		function->location = location;
		function->line = frame.line;
	}
}

/* Adds a frame's total to its function, unless a frame above it has the same name. */
static void
totals_leave_frame(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide)
{
	Totals *totals = state;
	Function *function = &totals->functions[frame.symbol];

	/* A recursive function counts once per stack: only its outermost frame adds the total. */
	if (--function->open > 0)
		return;
	if (likely(wide == NULL))
	{
		add_sides(totals, &function->total, total, TOTAL, frame.symbol);
		return;
	}
	pfs_add_wide_carrying(&function->total.value, wide->value, &totals->carries, TOTAL,
						  frame.symbol);
	pfs_add_wide_carrying(&function->total.base, wide->base, &totals->carries, TOTAL_BASE,
						  frame.symbol);
}

static void
totals_end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
	Totals *totals = state;

	if (symbol != PFS_NO_SYMBOL)
		add_sides(totals, &totals->functions[symbol].self, value, SELF, symbol);
}

static const PfsFrameVisitor visitor = { totals_enter_frame, totals_leave_frame, totals_end_stack };

/* Lists the functions that were met; frees the array. */
static uint32
list_functions(Totals *totals, PfsSymbols *symbols, PfsFunctionTotal **functions)
{
	uint32 count = 0;

	*functions = PFS_ARRAY(PfsFunctionTotal, totals->capacity);
	for (uint32 symbol = 0; symbol < totals->capacity; symbol++)
	{
		const Function *function = &totals->functions[symbol];

		/* A symbol of an earlier query with the same table. */
		if (function->age == NO_AGE)
			continue;
		(*functions)[count++] =
			(PfsFunctionTotal){ .symbol = symbol,
								.name = pfs_symbol_name(symbols, symbol),
								.location = function->location,
								.line = function->line,
								.self = clip_sides(totals, function->self, SELF, symbol),
								.total = clip_sides(totals, function->total, TOTAL, symbol) };
	}
	if (totals->functions != NULL)
		pfree(totals->functions);
	return count;
}

uint32
pfs_function_totals_visit(PfsStackVisit *visit, PfsSymbols *symbols, PfsFunctionTotal **functions,
						  PfsSides *whole)
{
	Totals totals = { .context = CurrentMemoryContext, .carries.context = CurrentMemoryContext };
	PfsWideSides sum = pfs_stack_visit_all(visit, &visitor, &totals);

	*whole = pfs_clip_sides(&sum);
	return list_functions(&totals, symbols, functions);
}

uint32
pfs_function_totals(PfsStackStream *stream, const PfsFilters *filters, PfsFunctionTotal **functions,
					PfsSides *whole)
{
	PfsSymbols *symbols;
	PfsStackVisit *visit;
	uint32 count;

	pfs_dictionary_begin();
	symbols = pfs_symbols_create(filters);
	visit = pfs_stack_visit_begin(stream, symbols);
	count = pfs_function_totals_visit(visit, symbols, functions, whole);
	pfs_stack_visit_end(visit);
	pfs_stack_stream_end(stream);
	return count;
}

static int
compare_in_heap(Datum a, Datum b, void *compare)
{
	return (*(PfsCompareFunctions *) compare)(DatumGetPointer(a), DatumGetPointer(b));
}

/* Moves the first limit functions to the front, in no particular order. The others are lost. */
static void
keep_first(PfsFunctionTotal *functions, uint32 count, uint32 limit, PfsCompareFunctions compare)
{
	binaryheap *heap = binaryheap_allocate((int) limit, compare_in_heap, &compare);

	for (uint32 i = 0; i < limit; i++)
		binaryheap_add_unordered(heap, PointerGetDatum(&functions[i]));
	binaryheap_build(heap);
	for (uint32 i = limit; i < count; i++)
	{
		PfsFunctionTotal *last = (PfsFunctionTotal *) DatumGetPointer(binaryheap_first(heap));

		/* The heap's first element is the last of those kept so far. */
		if (compare(&functions[i], last) >= 0)
			continue;
		/* The slot's content changes, so the heap only has to sift it down. */
		*last = functions[i];
		binaryheap_replace_first(heap, PointerGetDatum(last));
	}
	binaryheap_free(heap);
}

uint32
pfs_function_totals_sort(PfsFunctionTotal *functions, uint32 count, int64 limit,
						 PfsCompareFunctions compare)
{
	/* A heap of few elements is faster than sorting all; for many it is not. */
	if (limit > 0 && limit < count / 4)
	{
		keep_first(functions, count, (uint32) limit, compare);
		count = (uint32) limit;
	}
	qsort(functions, count, sizeof(PfsFunctionTotal), compare);
	return (uint32) Min(limit, count);
}
