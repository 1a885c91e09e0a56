/*
 * function_totals.h
 *		The cost of each function: by itself, and together with all functions that it calls.
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
	int32 location; /* location of the oldest frame of this function, which gives its source */
	uint32 line;
	PfsSides self;
	PfsSides total; /* a function that recurs in a stack counts once */
} PfsFunctionTotal;

/*
 * Sums the functions of a visit, whose symbols must be passed as well; returns their number, in no
 * particular order. whole gets the sum of all stacks. Everything is allocated with functions, in
 * CurrentMemoryContext.
 */
uint32 pfs_function_totals_visit(PfsStackVisit *visit, PfsSymbols *symbols,
								 PfsFunctionTotal **functions, PfsSides *whole);

/*
 * Like pfs_function_totals_visit(), for a stream, which is read and ended. filters must outlive the
 * names.
 */
uint32 pfs_function_totals(PfsStackStream *stream, const PfsFilters *filters,
						   PfsFunctionTotal **functions, PfsSides *whole);

/* Sorts the first limit functions to the front; the others are lost. Returns how many are left. */
typedef int (*PfsCompareFunctions)(const void *a, const void *b);
uint32 pfs_function_totals_sort(PfsFunctionTotal *functions, uint32 count, int64 limit,
								PfsCompareFunctions compare);

#endif
