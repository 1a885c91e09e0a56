/*
 * function_totals.h
 *		What each function costs: itself, and with all below it.
 */
#ifndef PFS_FUNCTION_TOTALS_H
#define PFS_FUNCTION_TOTALS_H

#include "profstore.h"

#include "query/frame_tree.h"
#include "query/stack_visit.h"

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
 * Sums up the functions of a tree that was built root first, in no particular order; returns their number. Lives in
 * CurrentMemoryContext.
 */
uint32 pfs_function_totals(PfsFrameTree *tree, PfsFunctionTotal **functions);

/* The same of a visit, whose symbols have to be passed as well; whole gets the sum of all stacks. What it takes goes with functions. */
uint32 pfs_function_totals_visit(PfsStackVisit *visit, PfsSymbols *symbols,
								 PfsFunctionTotal **functions, PfsSides *whole);

/* The same of a stream, which is read to its end. filters must outlive the names. */
uint32 pfs_function_totals_stream(PfsStackStream *stream, const PfsFilters *filters,
								  PfsFunctionTotal **functions, PfsSides *whole);

/* The same of a selection, without a tree. filters must outlive the names. */
uint32 pfs_function_totals_query(const PfsSelection *selection, const PfsFilters *filters,
								 PfsFunctionTotal **functions, PfsSides *whole);

#endif
