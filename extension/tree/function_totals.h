/*
 * function_totals.h
 *		What each function costs: itself, and with all below it.
 */
#ifndef PFS_FUNCTION_TOTALS_H
#define PFS_FUNCTION_TOTALS_H

#include "profstore.h"

#include "tree/frame_tree.h"
#include "tree/stack_visit.h"

typedef struct PfsFunctionTotal
{
	uint32 symbol;
	const char *name;
	int32 location; /* the oldest of this function, and the index of its line, for its source */
	uint32 line;
	PfsSides self;
	PfsSides total; /* a function that recurs in a stack counts once */
} PfsFunctionTotal;

/*
 * Sums up the functions of a visit, whose symbols have to be passed as well, in no particular
 * order; returns their number. whole gets the sum of all stacks. What it takes goes with functions.
 * Lives in CurrentMemoryContext.
 */
uint32 pfs_function_totals_visit(PfsStackVisit *visit, PfsSymbols *symbols,
								 PfsFunctionTotal **functions, PfsSides *whole);

/* The same of a stream, which is read and ended. filters must outlive the names. */
uint32 pfs_function_totals(PfsStackStream *stream, const PfsFilters *filters,
						   PfsFunctionTotal **functions, PfsSides *whole);

/*
 * Puts the first functions in order, up to a limit, at the beginning; the others are lost. Returns
 * how many they are.
 */
typedef int (*PfsCompareFunctions)(const void *a, const void *b);
uint32 pfs_function_totals_sort(PfsFunctionTotal *functions, uint32 count, int64 limit,
								PfsCompareFunctions compare);

#endif
