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
 * are three, a host. Without hosts, the rate is divided equally among them. Returns the requests of
 * each slot, [host][slot]: the mean rate times the slot's length, 0 if the slot has no rate, and 0
 * in the slots of the old version. Raises INVALID_PARAMETER_VALUE for other columns, for rates
 * below 0, and if no rate is inside the periods. Lives in CurrentMemoryContext.
 */
double *pfs_rates_read(const char *query, const PfsPeriods *periods, const PfsHosts *hosts);

#endif
