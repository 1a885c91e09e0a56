/*
 * rates.h
 *		Requests by host and period, from a query of the caller.
 */
#ifndef PFS_RATES_H
#define PFS_RATES_H

#include "profstore.h"

#include "insight/function_cells.h"

/*
 * Runs a query as the caller, read-only. Its columns are a time, a rate per second and, if there
 * are three, a host; without hosts, each has an equal part of the rate. Returns the requests of
 * each slot, [host][slot], as the mean rate times the slot's length; 0 if the slot has no rate, and
 * in the slots of the old version. Raises INVALID_PARAMETER_VALUE for other columns, for rates
 * below 0, and if no rate is inside of the periods. Lives in CurrentMemoryContext.
 */
double *pfs_rates_read(const char *query, const PfsPeriods *periods, const PfsHosts *hosts);

#endif
