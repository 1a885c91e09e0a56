/*
 * function_cells.h
 *		Sums of functions by host and period around a deploy.
 */
#ifndef PFS_FUNCTION_CELLS_H
#define PFS_FUNCTION_CELLS_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "insight/function_costs.h"
#include "select/selection.h"

/*
 * Periods of a base, one after another, and the time after the deploy, which begins a while after
 * the base ends.
 */
typedef struct PfsPeriods
{
	TimestampTz base_from;
	TimestampTz after_from;
	int64 length_us;   /* of each period of the base, and of the time after */
	uint32 base_count; /* at least 1 */
} PfsPeriods;

/*
 * Slots after those of the base: halves of the time after the deploy, of series with the new
 * version and of those with the old one.
 */
enum
{
	PFS_SLOT_NEW,
	PFS_SLOT_OLD = PFS_SLOT_NEW + 2,
	PFS_AFTER_SLOTS = PFS_SLOT_OLD + 2
};

typedef struct PfsHosts
{
	uint32 count;
	const char **names;		/* by host, sorted */
	const int32 *of_series; /* by PfsSeries.index; -1: the series has no host */
	/* by PfsSeries.index: its samples after the deploy are of the old version */
	const bool *is_old;
	/*
	 * by PfsSeries.index: it has the new version, so its samples before the deploy do not belong to
	 * the base
	 */
	const bool *is_new;
} PfsHosts;

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

/* Returns the times at which a slot begins and ends. */
void pfs_slot_range(const PfsPeriods *periods, uint32 slot, TimestampTz *from, TimestampTz *to);

#endif
