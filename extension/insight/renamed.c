/*
 * renamed.c
 *		Compares each function that is gone with each new one; both are few after a deploy.
 */
#include "insight/renamed.h"

#include <math.h>

#include "miscadmin.h"

#include "base/arrays.h"
#include "insight/findings.h"

/* Two functions are one only if the shares of their callers have at least this cosine. */
#define LEAST_LIKENESS 0.8

/* Two functions are one only if their costs differ by at most this factor. */
#define MAX_SIZE_RATIO 2.0

/* Number of the largest functions of each side that are compared. */
#define MAX_UNPAIRED 500

typedef struct Unpaired
{
	uint32 function;
	double size; /* share of the function on its side */
} Unpaired;

static int
compare_unpaired(const void *a, const void *b)
{
	const Unpaired *left = a;
	const Unpaired *right = b;

	if (left->size != right->size)
		return left->size > right->size ? -1 : 1;
	return (left->function > right->function) - (left->function < right->function);
}

/* Lists the functions that are missing on one side, largest first. */
static Unpaired *
list_unpaired(const PfsFunctionCosts *costs, PfsCost whole, double least_total, bool is_new,
			  uint32 *count)
{
	Unpaired *list = PFS_ARRAY(Unpaired, costs->count);

	*count = 0;
	for (uint32 i = 0; i < costs->count; i++)
	{
		PfsCost total = costs->functions[i].total;
		double base = whole.base > 0 ? total.base / whole.base : 0;
		double value = whole.value > 0 ? total.value / whole.value : 0;
		double size = is_new ? value : base;

		if ((is_new ? total.value : total.base) >= least_total &&
			(is_new ? base : value) < PFS_MISSING_PART * size)
			list[(*count)++] = (Unpaired){ i, size };
	}
	qsort(list, *count, sizeof(Unpaired), compare_unpaired);
	/* Each new function is compared with each that is gone, so both lists are bounded. */
	*count = Min(*count, MAX_UNPAIRED);
	return list;
}

/* Returns the cosine between the parts of callers in a function that is gone and in a new one. */
static double
callers_likeness(const PfsFunctionCosts *costs, uint32 gone, uint32 new)
{
	uint32 gone_count;
	uint32 new_count;
	const PfsCallCost *old_calls = pfs_calls_of(costs, gone, &gone_count);
	const PfsCallCost *new_calls = pfs_calls_of(costs, new, &new_count);
	double product = 0;
	double old_square = 0;
	double new_square = 0;

	for (uint32 i = 0; i < gone_count; i++)
		old_square += old_calls[i].cost.base * old_calls[i].cost.base;
	/* The calls of a function are sorted by caller, so the two lists are merged. */
	for (uint32 j = 0, i = 0; j < new_count; j++)
	{
		new_square += new_calls[j].cost.value * new_calls[j].cost.value;
		while (i < gone_count && old_calls[i].caller < new_calls[j].caller)
			i++;
		if (i < gone_count && old_calls[i].caller == new_calls[j].caller)
			product += old_calls[i].cost.base * new_calls[j].cost.value;
	}
	return old_square > 0 && new_square > 0 ? product / sqrt(old_square * new_square) : 0;
}

/* Returns the old function that is most like a new one; PFS_NO_FUNCTION if none is like it. */
static uint32
find_old(const PfsFunctionCosts *costs, const Unpaired *new, const Unpaired *gone,
		 uint32 gone_count, const bool *is_taken)
{
	uint32 best = PFS_NO_FUNCTION;
	/* In logarithms, half the size is as far as twice the size. */
	double least_distance = log(MAX_SIZE_RATIO);

	for (uint32 i = 0; i < gone_count; i++)
	{
		double distance = fabs(log(new->size / gone[i].size));

		/* A function in another binary or library is another function. */
		if (is_taken[i] || distance > least_distance ||
			strcmp(costs->functions[new->function].mapping,
				   costs->functions[gone[i].function].mapping) != 0 ||
			callers_likeness(costs, gone[i].function, new->function) < LEAST_LIKENESS)
			continue;
		best = i;
		least_distance = distance;
	}
	return best;
}

/* Moves the costs of the old function to the new one. */
static void
join_functions(PfsFunctionCosts *costs, uint32 old, uint32 new)
{
	PfsFunctionCost *from = &costs->functions[old];
	PfsFunctionCost *to = &costs->functions[new];

	to->self.base += from->self.base;
	to->self.value += from->self.value;
	to->total.base += from->total.base;
	to->total.value += from->total.value;
	from->self = from->total = (PfsCost){ 0, 0 };
	/* Symbols and calls refer to functions by number. */
	for (uint32 symbol = 0; symbol < costs->symbol_count; symbol++)
		if (costs->of_symbol[symbol] == old)
			costs->of_symbol[symbol] = new;
	for (uint32 i = 0; i < costs->call_count; i++)
	{
		if (costs->calls[i].caller == old)
			costs->calls[i].caller = new;
		if (costs->calls[i].callee == old)
			costs->calls[i].callee = new;
	}
}

const char **
pfs_pair_renamed(PfsFunctionCosts *costs, double least_total)
{
	const char **old_names = PFS_ARRAY0(const char *, costs->count);
	uint32 gone_count;
	uint32 new_count;
	PfsCost whole = pfs_costs_whole(costs);
	Unpaired *gone = list_unpaired(costs, whole, least_total, false, &gone_count);
	Unpaired *new = list_unpaired(costs, whole, least_total, true, &new_count);
	bool *is_taken = PFS_ARRAY0(bool, gone_count);
	uint32 *old_of = PFS_ARRAY(uint32, new_count);

	/* all pairs are found by the callers' names before any is joined */
	for (uint32 i = 0; i < new_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		old_of[i] = find_old(costs, &new[i], gone, gone_count, is_taken);
		if (old_of[i] != PFS_NO_FUNCTION)
			is_taken[old_of[i]] = true;
	}
	for (uint32 i = 0; i < new_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (old_of[i] == PFS_NO_FUNCTION)
			continue;
		old_names[new[i].function] = costs->functions[gone[old_of[i]].function].name;
		join_functions(costs, gone[old_of[i]].function, new[i].function);
	}
	/* Joined functions may have equal calls, which are summed up, and other places in the order. */
	pfs_calls_sort(costs);
	pfree(gone);
	pfree(new);
	pfree(is_taken);
	pfree(old_of);
	return old_names;
}
