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
#include "base/memory_peak.h"
#include "select/sample_scan.h"
#include "tree/stack_subset.h"
#include "tree/stack_verdicts.h"

#define NO_CELL PG_UINT32_MAX

/* At most so many functions are tested by their own values, and by their totals. */
#define MOST_TESTED 1000

/* The functions of a stack: its leaf's, then all of them, which are at lists[first]. */
typedef struct StackEntry
{
	uint32 leaf; /* NO_CELL: the leaf's function has no cells */
	uint32 first;
	uint32 count;
} StackEntry;

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
	/* of the slot that is scanned, [is_old][host][function]: a host's are near each other */
	double *slot_selves;
	double *slot_totals;
	/* stacks of a part, by ascending ids */
	int64 *stack_ids;
	StackEntry *stacks;
	uint32 listed_count;
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
	double share; /* of the side on which it is larger */
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

/* Lists functions of which one kind of value is at least least_total, by falling shares. */
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
	Size cell_bytes = 2 * sizeof(double) * filler->hosts->count * cells->slot_count;
	Size room = bytes / Max(cell_bytes, 1);
	Candidate *candidates = PFS_ARRAY(Candidate, costs->count);
	uint32 *functions = PFS_ARRAY(uint32, Min(room, 2 * MOST_TESTED));
	uint32 count;

	filler->place_of = PFS_ARRAY(uint32, costs->count);
	for (uint32 i = 0; i < costs->count; i++)
		filler->place_of[i] = NO_CELL;
	for (int is_total = 0; is_total < 2; is_total++)
	{
		count = cells_list_candidates(filler, is_total, least_total, candidates);
		for (uint32 i = 0; i < Min(count, MOST_TESTED) && cells->function_count < room; i++)
		{
			uint32 function = candidates[i].function;

			if (filler->place_of[function] != NO_CELL)
				continue;
			filler->place_of[function] = cells->function_count;
			functions[cells->function_count++] = function;
		}
	}
	/* each function with enough own value has enough total */
	cells->left_out = count - cells->function_count;
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

typedef struct NumberedStack
{
	int64 stack_id;
	StackEntry entry;
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
			if (passing != NULL && !passing[i])
				continue;
			listed[count].stack_id = subset.stacks[i].stack_id;
			cells_list_stack(filler, &subset, subset.leaves[i], &listed[count++].entry);
		}
	}
	qsort(listed, count, sizeof(NumberedStack), compare_numbered_stacks);
	filler->stack_ids = PFS_ARRAY(int64, count);
	filler->stacks = PFS_ARRAY(StackEntry, count);
	for (uint32 i = 0; i < count; i++)
	{
		filler->stack_ids[i] = listed[i].stack_id;
		filler->stacks[i] = listed[i].entry;
	}
	filler->listed_count = count;
	pfree(listed);
}

/*
 * Place of the first stack whose id is not below stack_id. Rows of a series mostly have ascending
 * stacks, so it lies a little after the place of the row before.
 */
static inline uint32
cells_find_stack(const Filler *filler, uint32 place, int64 stack_id)
{
	const int64 *ids = filler->stack_ids;
	uint32 count = filler->listed_count;
	uint32 step = 1;
	uint32 end;

	if (place >= count || ids[place] > stack_id)
		place = 0;
	for (end = place; end < count && ids[end] < stack_id; step *= 2)
	{
		place = end + 1;
		end = count - end > step ? end + step : count;
	}
	return pfs_lower_bound(ids, place, end, stack_id);
}

static inline void
cells_add(const Filler *filler, Size row, const StackEntry *stack, double value)
{
	double *totals = filler->slot_totals + row * filler->cells->function_count;
	const uint32 *list = filler->lists + stack->first;

	if (stack->leaf != NO_CELL)
		filler->slot_selves[row * filler->cells->function_count + stack->leaf] += value;
	for (uint32 i = 0; i < stack->count; i++)
		totals[list[i]] += value;
}

/* Adds the sums of a slot that has been scanned to the cells, and clears them. */
static void
cells_keep_slot(const Filler *filler, uint32 slot)
{
	PfsFunctionCells *cells = filler->cells;
	uint32 hosts = filler->hosts->count;
	uint32 versions = slot < filler->periods->base_count ? 1 : 2;
	Size count = (Size) versions * hosts * cells->function_count;

	for (uint32 row = 0; row < versions * hosts; row++)
	{
		Size cell = (Size) (row % hosts) * cells->slot_count + slot +
					(row < hosts ? 0 : PFS_SLOT_OLD - PFS_SLOT_NEW);
		const double *selves = filler->slot_selves + (Size) row * cells->function_count;
		const double *totals = filler->slot_totals + (Size) row * cells->function_count;

		for (uint32 function = 0; function < cells->function_count; function++)
		{
			Size place = (Size) function * hosts * cells->slot_count + cell;

			cells->selves[place] += selves[function];
			cells->totals[place] += totals[function];
		}
	}
	memset(filler->slot_selves, 0, count * sizeof(double));
	memset(filler->slot_totals, 0, count * sizeof(double));
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
	uint32 place = 0;
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
			int32 host;
			bool is_old;

			place = cells_find_stack(filler, place, block.stacks[row]);
			if (place == filler->listed_count || filler->stack_ids[place] != block.stacks[row])
				continue;
			series = pfs_selection_next_series(filler->selection, series, block.series[row]);
			host = filler->hosts->of_series[series->index];
			if (host < 0 ||
				(slot < filler->periods->base_count && filler->hosts->is_new[series->index]))
				continue;
			is_old = slot >= filler->periods->base_count && filler->hosts->is_old[series->index];
			filler->cells->wholes[(Size) host * filler->cells->slot_count + slot +
								  (is_old ? PFS_SLOT_OLD - PFS_SLOT_NEW : 0)] +=
				(double) block.values[row];
			cells_add(filler, (Size) host + (is_old ? filler->hosts->count : 0),
					  &filler->stacks[place], (double) block.values[row]);
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
	filler.slot_selves = PFS_ARRAY0(double, 2 * (Size) hosts->count * cells->function_count);
	filler.slot_totals = PFS_ARRAY0(double, 2 * (Size) hosts->count * cells->function_count);
	filler.last_stack = PFS_ARRAY0(uint32, cells->function_count);

	while (pfs_stack_stream_next(stream, &part))
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		cells_list_part(&filler, &part);
		for (uint32 slot = 0; slot < periods->base_count + PFS_SLOT_OLD; slot++)
		{
			cells_scan_slot(&filler, slot);
			cells_keep_slot(&filler, slot);
		}
		pfs_memory_look();
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	pfs_stack_stream_end(stream);
	MemoryContextDelete(context);
	return cells;
}
