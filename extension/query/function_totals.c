/*
 * function_totals.c
 *		One visit of all frames with a count of open frames per function.
 */
#include "query/function_totals.h"

#include "dictionary/dictionary.h"
#include "query/allocate.h"

#define INITIAL_FUNCTIONS 1024

typedef struct Function
{
	PfsWideSides self;
	PfsWideSides total;
	uint64 age; /* of the location; NO_AGE: the name has not been met */
	int32 location;
	uint32 line;
	uint32 open; /* frames of that name from the root to where the visit is */
} Function;

#define NO_AGE PG_UINT64_MAX

typedef struct Totals
{
	MemoryContext context;
	Function *functions; /* by symbol */
	uint32 capacity;
} Totals;

/* Symbols are made as frames are met. */
static pg_noinline void
grow(Totals *totals, uint32 symbol)
{
	uint32 old = totals->capacity;
	Size bytes;

	totals->capacity = Max(INITIAL_FUNCTIONS, symbol + 1);
	totals->capacity = Max(totals->capacity, old * 2);
	bytes = (Size) totals->capacity * sizeof(Function);
	totals->functions = old == 0 ? MemoryContextAllocHuge(totals->context, bytes)
								 : repalloc_huge(totals->functions, bytes);
	for (uint32 i = old; i < totals->capacity; i++)
		totals->functions[i] = (Function){ .age = NO_AGE };
}

static void
enter_frame(void *state, uint64 age, int32 location, PfsFrame frame)
{
	Totals *totals = state;
	Function *function;

	if (frame.symbol >= totals->capacity)
		grow(totals, frame.symbol);
	function = &totals->functions[frame.symbol];
	function->open++;
	if (age < function->age)
	{
		function->age = age;
		function->location = location;
		function->line = frame.line;
	}
}

/* The total of a frame counts in its function only where no frame above it has the same name. */
static void
leave_frame(void *state, PfsFrame frame, const PfsWideSides *total)
{
	Function *function = &((Totals *) state)->functions[frame.symbol];

	if (--function->open == 0)
		pfs_add_wide_sides(&function->total, total);
}

static void
end_stack(void *state, uint64 age, uint32 symbol, PfsSides value)
{
	Function *function;

	if (symbol == PFS_NO_SYMBOL)
		return;
	function = &((Totals *) state)->functions[symbol];
	pfs_add_sides(&function->self, value);
}

static const PfsFrameVisitor visitor = { enter_frame, leave_frame, end_stack };

/* The functions that have been met; what they were kept in goes. */
static uint32
list_functions(Totals *totals, PfsSymbols *symbols, PfsFunctionTotal **functions)
{
	uint32 count = 0;

	*functions = PFS_ARRAY(PfsFunctionTotal, totals->capacity);
	for (uint32 symbol = 0; symbol < totals->capacity; symbol++)
	{
		const Function *function = &totals->functions[symbol];

		if (function->age == NO_AGE)
			continue;
		(*functions)[count++] = (PfsFunctionTotal){ .symbol = symbol,
													.name = pfs_symbol_name(symbols, symbol),
													.location = function->location,
													.line = function->line,
													.self = pfs_clip_sides(&function->self),
													.total = pfs_clip_sides(&function->total) };
	}
	if (totals->functions != NULL)
		pfree(totals->functions);
	return count;
}

uint32
pfs_function_totals_visit(PfsStackVisit *visit, PfsSymbols *symbols, PfsFunctionTotal **functions,
						  PfsSides *whole)
{
	Totals totals = { CurrentMemoryContext, NULL, 0 };
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
