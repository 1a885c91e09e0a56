/*
 * function_cells.c
 *		Fills cells with the sums of functions.
 *
 * 1. cells_choose_functions(): the functions with the largest own values get cells, then those with
 *    the largest totals.
 * 2. cells_list_part(): the functions of the stacks of a part of the stream, each once.
 * 3. cells_scan_part(): sums by series and stack are added to the cells of the stack's functions,
 *    period by period, by one process or several (cell_workers.c).
 *
 * If the stacks do not fit in memory, the samples are read once for each part of them.
 */
#include "insight/function_cells.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "insight/cell_workers.h"
#include "select/estimate.h"
#include "tree/stack_subset.h"
#include "tree/stack_verdicts.h"

/*
 * Limit of the functions that are tested by their own values, and of those tested by their totals.
 */
#define MOST_TESTED 1000

typedef struct Filler
{
	PfsFunctionCells *cells;
	const PfsSelection *selection;
	const PfsPeriods *periods;
	const PfsHosts *hosts;
	const PfsFunctionCosts *costs;
	PfsSymbols *symbols;
	/* for each function's number in costs, its index among the cells, or PFS_NO_CELL */
	uint32 *place_of;
	/* for each index, the number of the last listed stack that contains the function */
	uint32 *last_stack;
	uint32 stack_count; /* number of stacks listed so far */
	/* stacks of the current part, by ascending ids */
	int64 *stack_ids;
	PfsCellStack *stacks;
	uint32 listed_count;
	uint32 *lists;
	uint32 list_count;
	uint32 list_capacity;
	PfsCellScan scan;
} Filler;

typedef struct Candidate
{
	uint32 function;
	double share; /* share of the function on the side on which it is larger */
} Candidate;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	if (left->share != right->share)
		return left->share > right->share ? -1 : 1;
	return (left->function > right->function) - (left->function < right->function);
}

/* Lists the functions for which one kind of value is at least least_total, by descending shares. */
static uint32
cells_list_candidates(const Filler *filler, bool is_total, double least_total,
					  Candidate *candidates)
{
	PfsCost whole = pfs_costs_whole(filler->costs);
	uint32 count = 0;

	for (uint32 i = 0; i < filler->costs->count; i++)
	{
		const PfsFunctionCost *function = &filler->costs->functions[i];
		PfsCost cost = is_total ? function->total : function->self;
		double base = whole.base > 0 ? cost.base / whole.base : 0;
		double value = whole.value > 0 ? cost.value / whole.value : 0;

		if (cost.base + cost.value >= least_total)
			candidates[count++] = (Candidate){ i, Max(base, value) };
	}
	qsort(candidates, count, sizeof(Candidate), compare_candidates);
	return count;
}

/*
 * Gives cells to functions with the largest own values, then to those with the largest totals. More
 * functions than MOST_TESTED of a kind are not tested: each test makes the others less sensitive.
 */
static void
cells_choose_functions(Filler *filler, double least_total, Size bytes)
{
	PfsFunctionCells *cells = filler->cells;
	const PfsFunctionCosts *costs = filler->costs;
	/* A function has two numbers, own value and total, for each host and slot. */
	Size cell_bytes = 2 * sizeof(double) * filler->hosts->count * cells->slot_count;
	Size room = bytes / Max(cell_bytes, 1);
	Candidate *candidates = PFS_ARRAY(Candidate, costs->count);
	uint32 *functions = PFS_ARRAY(uint32, Min(room, 2 * MOST_TESTED));
	uint32 count;

	filler->place_of = PFS_ARRAY(uint32, costs->count);
	for (uint32 i = 0; i < costs->count; i++)
		filler->place_of[i] = PFS_NO_CELL;
	for (int is_total = 0; is_total < 2; is_total++)
	{
		count = cells_list_candidates(filler, is_total, least_total, candidates);
		for (uint32 i = 0; i < Min(count, MOST_TESTED) && cells->function_count < room; i++)
		{
			uint32 function = candidates[i].function;

			/* The function has a cell because of its own value. */
			if (filler->place_of[function] != PFS_NO_CELL)
				continue;
			filler->place_of[function] = cells->function_count;
			functions[cells->function_count++] = function;
		}
	}
	/* a function with enough own value has enough total, too */
	cells->left_out = count - cells->function_count;
	cells->functions = functions;
	pfree(candidates);
}

/* Lists the functions from a leaf to the root, each once. */
static void
cells_list_stack(Filler *filler, const PfsStackSubset *subset, uint32 leaf, PfsCellStack *entry)
{
	bool is_leaf = true;

	entry->leaf = PFS_NO_CELL;
	entry->first = filler->list_count;
	filler->stack_count++;
	for (uint32 node = leaf; node != 0; node = subset->shape.parents[node])
	{
		PfsFrames frames = pfs_symbols_frames(filler->symbols, subset->shape.locations[node]);

		/* Frames of a location are inlined functions, the innermost last. */
		for (uint32 i = frames.count; i > 0; i--)
		{
			uint32 function = pfs_function_of_symbol(filler->costs, frames.frames[i - 1].symbol);
			uint32 place = function == PFS_NO_FUNCTION ? PFS_NO_CELL : filler->place_of[function];

			if (is_leaf)
				entry->leaf = place;
			is_leaf = false;
			/* A recursive function is listed once. */
			if (place == PFS_NO_CELL || filler->last_stack[place] == filler->stack_count)
				continue;
			filler->last_stack[place] = filler->stack_count;
			PFS_RESERVE(filler->lists, filler->list_capacity, (uint64) filler->list_count + 1);
			filler->lists[filler->list_count++] = place;
		}
	}
	entry->count = filler->list_count - entry->first;
}

typedef struct NumberedStack
{
	int64 stack_id;
	PfsCellStack entry;
} NumberedStack;

static int
compare_numbered_stacks(const void *a, const void *b)
{
	return pfs_compare_int64(&((const NumberedStack *) a)->stack_id,
							 &((const NumberedStack *) b)->stack_id);
}

/* Stacks that the filters drop are not listed, so their samples are not counted. */
static void
cells_list_part(Filler *filler, const PfsStackSums *part)
{
	PfsStackSubsets subsets = pfs_stack_subsets_begin(part, false);
	NumberedStack *listed = PFS_ARRAY(NumberedStack, part->count);
	PfsStackSubset subset;
	uint32 count = 0;

	/* The lists of the previous part were freed with its memory context. */
	filler->lists = NULL;
	filler->list_count = filler->list_capacity = 0;
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing;

		pfs_stack_subset_load_names(&subset);
		passing = pfs_stacks_passing(&subset, filler->symbols);
		for (uint32 i = 0; i < subset.stack_count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			/* NULL means that the filters keep all stacks. */
			if (passing != NULL && !passing[i])
				continue;
			listed[count].stack_id = subset.stacks[i].stack_id;
			cells_list_stack(filler, &subset, subset.leaves[i], &listed[count++].entry);
		}
	}
	/* pfs_id_ranks() needs ascending ids. */
	qsort(listed, count, sizeof(NumberedStack), compare_numbered_stacks);
	filler->stack_ids = PFS_ARRAY(int64, count);
	filler->stacks = PFS_ARRAY(PfsCellStack, count);
	for (uint32 i = 0; i < count; i++)
	{
		filler->stack_ids[i] = listed[i].stack_id;
		filler->stacks[i] = listed[i].entry;
	}
	filler->listed_count = count;
	pfree(listed);
}

/* Adds the sums of a slot to the cells. */
static void
cells_keep_slot(void *state, uint32 slot, const double *sums)
{
	const Filler *filler = state;
	PfsFunctionCells *cells = filler->cells;
	uint32 hosts = filler->hosts->count;

	for (uint32 row = 0; row < pfs_slot_rows(&filler->scan, slot); row++)
	{
		/*
		 * Rows after those of the hosts are of the old version, whose slots follow those of the new
		 * one.
		 */
		Size cell = (Size) (row % hosts) * cells->slot_count + slot +
					(row < hosts ? 0 : PFS_SLOT_OLD - PFS_SLOT_NEW);
		const double *selves = sums + row * pfs_slot_row_length(&filler->scan) + 1;
		const double *totals = selves + cells->function_count;

		/* A row begins with the sum of all samples. */
		cells->wholes[cell] += selves[-1];
		for (uint32 function = 0; function < cells->function_count; function++)
		{
			Size place = (Size) function * hosts * cells->slot_count + cell;

			cells->selves[place] += selves[function];
			cells->totals[place] += totals[function];
		}
	}
}

/* Adds the samples of the listed stacks to the cells. */
static void
cells_scan_part(Filler *filler, int workers)
{
	filler->scan = (PfsCellScan){ .selection = filler->selection,
								  .periods = filler->periods,
								  .hosts = filler->hosts,
								  .function_count = filler->cells->function_count,
								  .stack_ids = filler->stack_ids,
								  .stacks = filler->stacks,
								  .stack_count = filler->listed_count,
								  .lists = filler->lists,
								  .list_count = filler->list_count,
								  .ranks = pfs_id_ranks(filler->stack_ids, filler->listed_count) };
	pfs_cells_scan(&filler->scan, workers, cells_keep_slot, filler);
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
	int workers = pfs_worker_count(selection, 0, 1);

	cells->slot_count = periods->base_count + PFS_AFTER_SLOTS;
	cells_choose_functions(&filler, least_total, bytes);
	cell_count = (Size) hosts->count * cells->slot_count;
	cells->selves = PFS_ARRAY0(double, cells->function_count *cell_count);
	cells->totals = PFS_ARRAY0(double, cells->function_count *cell_count);
	cells->wholes = PFS_ARRAY0(double, cell_count);
	filler.last_stack = PFS_ARRAY0(uint32, cells->function_count);

	/* All samples are scanned once for each part of the stacks. */
	while (pfs_stack_stream_next(stream, &part))
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		cells_list_part(&filler, &part);
		cells_scan_part(&filler, workers);
		pfs_memory_look();
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	pfs_stack_stream_end(stream);
	MemoryContextDelete(context);
	return cells;
}
