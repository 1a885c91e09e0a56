/*
 * discoveries.h
 *		Controls the rate of false discoveries among many tests, and computes the detectable change.
 */
#ifndef PFS_DISCOVERIES_H
#define PFS_DISCOVERIES_H

#include <stdbool.h>

#include "insight/statistic/changes.h"

/*
 * Sets q[i] to the false discovery rate at which p[i] is found among count tests (Benjamini and
 * Hochberg). order is scratch.
 */
void pfs_false_discovery_rates(const double *p, uint32_t count, double *q, uint32_t *order);

/*
 * Returns the change, as a share of the function's cost, that would be found in 95 of 100 cases: a
 * change beyond least (a logarithm), at a false discovery rate of max_rate, if found of the tested
 * functions are found and an estimate below min_change is not.
 */
double pfs_detectable_change(const PfsChange *change, double least, double min_change,
							 double max_rate, uint32_t found, uint32_t tested);

/*
 * Returns true if so many of the tested functions changed that the deploy may not be the only
 * cause: a change of the traffic changes all functions of a kind of request. Only hosts that keep
 * the old version can tell these causes apart.
 */
bool pfs_changes_are_many(uint32_t found, uint32_t tested);

#endif
