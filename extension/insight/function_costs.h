/*
 * function_costs.h
 *		The functions of two selections, before and after a deploy: their costs and their callers.
 *
 * Names are plain (statistic/plain_name.h), so clones that compilers make are one function.
 */
#ifndef PFS_FUNCTION_COSTS_H
#define PFS_FUNCTION_COSTS_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frames/symbols.h"

#define PFS_NO_FUNCTION PG_UINT32_MAX

/* Sums of values before and after the deploy. */
typedef struct PfsCost
{
	double base;
	double value;
} PfsCost;

typedef struct PfsFunctionCost
{
	const char *name;
	const char *mapping; /* "" if the function is in no file */
	const char *file;	 /* NULL: unknown */
	PfsCost self;
	PfsCost total; /* a function that recurs in a stack counts once */
} PfsFunctionCost;

/* The part of the callee's total in direct calls of the caller. */
typedef struct PfsCallCost
{
	uint32 callee;
	uint32 caller; /* PFS_NO_FUNCTION: the callee is the outermost frame */
	PfsCost cost;
} PfsCallCost;

typedef struct PfsFunctionCosts
{
	uint32 count;
	PfsFunctionCost *functions;
	uint32 call_count;
	PfsCallCost *calls; /* sorted by callee, then caller */
	uint32 symbol_count;
	/* for each symbol, the number of its function; PFS_NO_FUNCTION if it has none */
	uint32 *of_symbol;
} PfsFunctionCosts;

/* Sums a stream of two selections, without ending it. Lives in CurrentMemoryContext. */
PfsFunctionCosts *pfs_function_costs(PfsStackStream *stream, PfsSymbols *symbols);

/* Returns the number of a symbol's function; PFS_NO_FUNCTION if it has none. */
static inline uint32
pfs_function_of_symbol(const PfsFunctionCosts *costs, uint32 symbol)
{
	return symbol < costs->symbol_count ? costs->of_symbol[symbol] : PFS_NO_FUNCTION;
}

/* Returns the sum of all functions' own values. */
PfsCost pfs_costs_whole(const PfsFunctionCosts *costs);

/* Sorts the calls, and merges those that have become equal because functions were joined. */
void pfs_calls_sort(PfsFunctionCosts *costs);

/* Returns the calls of a function, by ascending callers; sets their number. */
const PfsCallCost *pfs_calls_of(const PfsFunctionCosts *costs, uint32 callee, uint32 *count);

#endif
