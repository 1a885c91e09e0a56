/*
 * renamed.h
 *		Functions that have another name after a deploy.
 */
#ifndef PFS_RENAMED_H
#define PFS_RENAMED_H

#include "profstore.h"

#include "insight/function_costs.h"

/*
 * Makes one function of each pair of a function that is gone and one that is new, of the same
 * mapping, of similar size, called by the same functions in similar parts. It keeps the new name.
 * Functions below least_total, a value per period, are not paired; the base has base_count periods,
 * the time after one. Returns the old names by function, NULL for functions that were not renamed.
 */
const char **pfs_pair_renamed(PfsFunctionCosts *costs, uint32 base_count, double least_total);

#endif
