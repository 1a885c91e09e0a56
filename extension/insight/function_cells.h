/*
 * function_cells.h
 *		Sums of functions by host and period around a deploy.
 */
#ifndef PFS_FUNCTION_CELLS_H
#define PFS_FUNCTION_CELLS_H

#include "profstore.h"

#include "insight/function_costs.h"
#include "insight/periods.h"
#include "select/selection.h"

typedef struct PfsFunctionCells
{
	uint32 function_count;	 /* functions with cells, fewer than pfs_function_costs() has */
	const uint32 *functions; /* their numbers in pfs_function_costs() */
	uint32 left_out;		 /* functions with enough samples that are not tested */
	uint32 slot_count;		 /* periods of the base, then PFS_AFTER_SLOTS */
	double *selves;			 /* [function][host][slot] */
	double *totals;			 /* [function][host][slot] */
	double *wholes;			 /* [host][slot]; also of functions without cells */
	const double *rates;	 /* requests, [host][slot] (rates.h); NULL: unknown */
} PfsFunctionCells;

/*
 * Sums the samples of a selection whose range covers all periods, for functions whose total on both
 * sides together is at least least_total, as many as fit in bytes: first those with the largest own
 * values. The stream, which is at its beginning, has the stacks; it is ended. All in
 * CurrentMemoryContext.
 */
PfsFunctionCells *pfs_function_cells(const PfsSelection *selection, const PfsPeriods *periods,
									 const PfsHosts *hosts, const PfsFunctionCosts *costs,
									 PfsStackStream *stream, PfsSymbols *symbols,
									 double least_total, Size bytes);

#endif
