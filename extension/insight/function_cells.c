/*
 * function_cells.c
 *		1. cells_choose_functions(): the functions with the largest own values get cells, then those
 *		   with the largest totals.
 *		2. cells_list_part(): the functions of the stacks of a part of the stream, each once.
 *		3. cells_scan_slot(): sums by series and stack are added to the cells of the stack's
 *		   functions, period by period.
 *
 * If the stacks do not fit in memory, the samples are read once for each part of them.
 */
#include "insight/function_cells.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/hash.h"
#include "base/memory_peak.h"
#include "select/sample_scan.h"
#include "tree/stack_subset.h"
#include "tree/stack_verdicts.h"

#define NO_CELL PG_UINT32_MAX

/* The functions of a stack: its leaf's, then all of them, which are at lists[first]. */
typedef struct StackEntry
{
	int64 stack_id;
	uint32 leaf; /* NO_CELL: the leaf's function has no cells */
	uint32 first;
	uint32 count;
	char status;
} StackEntry;

#define SH_PREFIX		   listed_stacks
#define SH_ELEMENT_TYPE	   StackEntry
#define SH_KEY_TYPE		   int64
#define SH_KEY			   stack_id
#define SH_HASH_KEY(tb, k) pfs_hash64((uint64) (k))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Filler
{
	PfsFunctionCells *cells;
	const PfsSelection *selection;
	const PfsPeriods *periods;
	const PfsHosts *hosts;
	const PfsFunctionCosts *costs;
	PfsSymbols *symbols;
	uint32 *place_of; /* by number of a function in costs: its index among the cells, or NO_CELL */
	uint32 *last_stack; /* by index: number of the last listed stack that contains the function */
	uint32 stack_count; /* listed so far */
	listed_stacks_hash *stacks;
	uint32 *lists;
	uint32 list_count;
	uint32 list_capacity;
} Filler;

void
pfs_slot_range(const PfsPeriods *periods, uint32 slot, TimestampTz *from, TimestampTz *to)
{
	int64 half = periods->length_us / 2;

	if (slot < periods->base_count)
	{
		*from = periods->base_from + (int64) slot * periods->length_us;
		*to = *from + periods->length_us;
		return;
	}
	/* new and old versions have the same two halves */
	*from = periods->after_from + (slot - periods->base_count) % 2 * half;
	*to = (slot - periods->base_count) % 2 == 0 ? *from + half
												: periods->after_from + periods->length_us;
}

typedef struct Candidate
{
	uint32 function;
	bool has_self; /* its own value is large enough to be tested */
	double value;  /* own value, or otherwise total */
} Candidate;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->has_self != right->has_self)
		return left->has_self ? -1 : 1;
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	return (left->function > right->function) - (left->function < right->function);
}

static void
cells_choose_functions(Filler *filler, double least_total, Size bytes)
{
	PfsFunctionCells *cells = filler->cells;
	const PfsFunctionCosts *costs = filler->costs;
	Size cell_bytes = 2 * sizeof(double) * filler->hosts->count * cells->slot_count;
	Candidate *candidates = PFS_ARRAY(Candidate, costs->count);
	uint32 *functions;
	uint32 count = 0;

	for (uint32 i = 0; i < costs->count; i++)
	{
		const PfsFunctionCost *function = &costs->functions[i];
		double self = function->self.base + function->self.value;
		double total = function->total.base + function->total.value;
		bool has_self = self >= least_total;

		if (total >= least_total)
			candidates[count++] = (Candidate){ i, has_self, has_self ? self : total };
	}
	qsort(candidates, count, sizeof(Candidate), compare_candidates);
	cells->function_count = (uint32) Min(count, bytes / Max(cell_bytes, 1));
	cells->left_out = count - cells->function_count;
	functions = PFS_ARRAY(uint32, cells->function_count);
	filler->place_of = PFS_ARRAY(uint32, costs->count);
	for (uint32 i = 0; i < costs->count; i++)
		filler->place_of[i] = NO_CELL;
	for (uint32 i = 0; i < cells->function_count; i++)
	{
		functions[i] = candidates[i].function;
		filler->place_of[functions[i]] = i;
	}
	cells->functions = functions;
	pfree(candidates);
}

/* Lists the functions from a leaf to the root, each once. */
static void
cells_list_stack(Filler *filler, const PfsStackSubset *subset, uint32 leaf, StackEntry *entry)
{
	bool is_leaf = true;

	entry->leaf = NO_CELL;
	entry->first = filler->list_count;
	filler->stack_count++;
	for (uint32 node = leaf; node != 0; node = subset->shape.parents[node])
	{
		PfsFrames frames = pfs_symbols_frames(filler->symbols, subset->shape.locations[node]);

		for (uint32 i = frames.count; i > 0; i--)
		{
			uint32 function = pfs_function_of_symbol(filler->costs, frames.frames[i - 1].symbol);
			uint32 place = function == PFS_NO_FUNCTION ? NO_CELL : filler->place_of[function];

			if (is_leaf)
				entry->leaf = place;
			is_leaf = false;
			if (place == NO_CELL || filler->last_stack[place] == filler->stack_count)
				continue;
			filler->last_stack[place] = filler->stack_count;
			PFS_RESERVE(filler->lists, filler->list_capacity, (uint64) filler->list_count + 1);
			filler->lists[filler->list_count++] = place;
		}
	}
	entry->count = filler->list_count - entry->first;
}

/* Stacks that the filters drop are not listed, so their samples are not counted. */
static void
cells_list_part(Filler *filler, const PfsStackSums *part)
{
	PfsStackSubsets subsets = pfs_stack_subsets_begin(part, false);
	PfsStackSubset subset;

	filler->stacks = listed_stacks_create(CurrentMemoryContext, part->count, NULL);
	filler->lists = NULL;
	filler->list_count = filler->list_capacity = 0;
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing;

		pfs_stack_subset_load_names(&subset);
		passing = pfs_stacks_passing(&subset, filler->symbols);
		for (uint32 i = 0; i < subset.stack_count; i++)
		{
			bool found;

			CHECK_FOR_INTERRUPTS();
			if (passing == NULL || passing[i])
				cells_list_stack(filler, &subset, subset.leaves[i],
								 listed_stacks_insert(filler->stacks, subset.stacks[i].stack_id,
													  &found));
		}
	}
}

static inline void
cells_add(const Filler *filler, uint32 host, uint32 slot, const StackEntry *stack, double value)
{
	PfsFunctionCells *cells = filler->cells;
	Size stride = (Size) filler->hosts->count * cells->slot_count;
	Size cell = (Size) host * cells->slot_count + slot;

	cells->wholes[cell] += value;
	if (stack->leaf != NO_CELL)
		cells->selves[stack->leaf * stride + cell] += value;
	for (uint32 i = 0; i < stack->count; i++)
		cells->totals[filler->lists[stack->first + i] * stride + cell] += value;
}

/*
 * Adds the samples in the time of a slot. The two halves of the time after the deploy go to two
 * slots.
 */
static void
cells_scan_slot(const Filler *filler, uint32 slot)
{
	PfsSelection narrow = *filler->selection;
	const PfsSeries *series = NULL;
	PfsSampleScan *scan;
	PfsSampleBlock block;

	pfs_slot_range(filler->periods, slot, &narrow.from, &narrow.to);
	scan =
		pfs_sample_scan_begin_sums(&narrow, PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE,
								   PFS_PART_PAIRS);
	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			const StackEntry *stack = listed_stacks_lookup(filler->stacks, block.stacks[row]);
			int32 host;
			bool is_old;

			if (stack == NULL)
				continue;
			series = pfs_selection_next_series(filler->selection, series, block.series[row]);
			host = filler->hosts->of_series[series->index];
			if (host < 0 ||
				(slot < filler->periods->base_count && filler->hosts->is_new[series->index]))
				continue;
			is_old = slot >= filler->periods->base_count && filler->hosts->is_old[series->index];
			cells_add(filler, (uint32) host, is_old ? slot + PFS_SLOT_OLD - PFS_SLOT_NEW : slot,
					  stack, (double) block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
}

PfsFunctionCells *
pfs_function_cells(const PfsSelection *selection, const PfsPeriods *periods, const PfsHosts *hosts,
				   const PfsFunctionCosts *costs, PfsStackStream *stream, PfsSymbols *symbols,
				   double least_total, Size bytes)
{
	PfsFunctionCells *cells = palloc0(sizeof(PfsFunctionCells));
	Filler filler = { .cells = cells,
					  .selection = selection,
					  .periods = periods,
					  .hosts = hosts,
					  .costs = costs,
					  .symbols = symbols };
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore functions of stacks",
							  ALLOCSET_DEFAULT_SIZES);
	PfsStackSums part;
	Size cell_count;

	cells->slot_count = periods->base_count + PFS_AFTER_SLOTS;
	cells_choose_functions(&filler, least_total, bytes);
	cell_count = (Size) hosts->count * cells->slot_count;
	cells->selves = PFS_ARRAY0(double, cells->function_count *cell_count);
	cells->totals = PFS_ARRAY0(double, cells->function_count *cell_count);
	cells->wholes = PFS_ARRAY0(double, cell_count);
	filler.last_stack = PFS_ARRAY0(uint32, cells->function_count);

	while (pfs_stack_stream_next(stream, &part))
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		cells_list_part(&filler, &part);
		for (uint32 slot = 0; slot < periods->base_count + PFS_SLOT_OLD; slot++)
			cells_scan_slot(&filler, slot);
		pfs_memory_look();
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	pfs_stack_stream_end(stream);
	MemoryContextDelete(context);
	return cells;
}
