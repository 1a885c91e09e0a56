/*
 * discoveries.h
 *		Controls the rate of false discoveries among many tests, and computes the detectable change.
 */
#ifndef PFS_DISCOVERIES_H
#define PFS_DISCOVERIES_H

#include "insight/statistic/changes.h"

/*
 * Sets q[i] to the false discovery rate at which p[i] is found among count tests (Benjamini and
 * Hochberg). order is scratch.
 */
void pfs_false_discovery_rates(const double *p, uint32_t count, double *q, uint32_t *order);

/*
 * Returns the change, as a share of the function's cost, that would be found 95 times of 100:
 * beyond least, a logarithm, at a false discovery rate of max_rate, if found of the tested
 * functions are found.
 */
double pfs_detectable_change(const PfsChange *change, double least, double min_change,
							 double max_rate, uint32_t found, uint32_t tested);

#endif
