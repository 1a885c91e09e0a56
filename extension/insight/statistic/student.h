/*
 * student.h
 *		Student's t distribution, and functions of the gamma family that estimates of variances
 *		need.
 *
 * Numbers of degrees of freedom need not be whole. All functions return finite numbers for finite
 * arguments in the stated ranges; relative errors are below 1e-9.
 */
#ifndef PFS_STUDENT_H
#define PFS_STUDENT_H

/* Returns the probability that a t with these degrees of freedom (> 0) is greater than t. */
double pfs_student_tail(double t, double freedom);

/* Returns the t whose upper tail has the given probability, between 0 and 1 exclusive. */
double pfs_student_bound(double tail, double freedom);

/* Return the first and second derivative of the logarithm of gamma at x > 0. */
double pfs_digamma(double x);
double pfs_trigamma(double x);

/* Returns the x for which pfs_trigamma(x) = y; y > 0. */
double pfs_trigamma_inverse(double y);

#endif
