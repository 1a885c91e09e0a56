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
 * mapping, of similar share, called by the same functions in similar parts. It keeps the new name.
 * Functions whose total is below least_total are not paired. Returns the old names by function,
 * NULL for functions that were not renamed.
 */
const char **pfs_pair_renamed(PfsFunctionCosts *costs, double least_total);

#endif
