/*
 * function_costs.h
 *		The functions of two selections, before and after a deploy: what each costs, who calls it.
 *
 * Names are plain (statistic/plain_name.h), so clones that compilers make are one function.
 */
#ifndef PFS_FUNCTION_COSTS_H
#define PFS_FUNCTION_COSTS_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frames/symbols.h"

#define PFS_NO_FUNCTION PG_UINT32_MAX

/* Sums of values: before, and after. */
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

/* The part of callee's total that caller calls directly. */
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
	uint32 *of_symbol; /* number of the function by symbol; PFS_NO_FUNCTION for others */
} PfsFunctionCosts;

/*
 * Adds up a stream of two selections, which is kept, not ended. All in CurrentMemoryContext.
 */
PfsFunctionCosts *pfs_function_costs(PfsStackStream *stream, PfsSymbols *symbols);

/* The number of the function of a symbol; PFS_NO_FUNCTION for a symbol that has none. */
static inline uint32
pfs_function_of_symbol(const PfsFunctionCosts *costs, uint32 symbol)
{
	return symbol < costs->symbol_count ? costs->of_symbol[symbol] : PFS_NO_FUNCTION;
}

/* Sum of all functions' own values. */
PfsCost pfs_costs_whole(const PfsFunctionCosts *costs);

/* Sorts the calls, and adds up those that have become equal, after functions were joined. */
void pfs_calls_sort(PfsFunctionCosts *costs);

/* The calls of a function, by ascending callers; sets their number. */
const PfsCallCost *pfs_calls_of(const PfsFunctionCosts *costs, uint32 callee, uint32 *count);

#endif
