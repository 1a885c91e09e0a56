/*
 * changes.h
 *		Decides which functions' shares of the whole changed with a deploy, from sums by function,
 *		host and period.
 *
 * The unit of observation is the host: samples of one host, and neighbouring times of it, depend on
 * each other. A change is the logarithm of the ratio of shares after and before, with the same
 * weights of hosts on both sides. It is measured against the weighted median of all functions,
 * because a function that grows makes all other shares smaller.
 *
 * All hosts also share noise, such as that of the traffic. So each period of the base is judged as
 * if it followed a deploy. If these past changes vary more than the differences between hosts
 * explain, the excess is added to the function's variance. The excesses are shrunk towards each
 * other over functions (Smyth 2004, "Linear models and empirical Bayes methods"). The p-value is
 * that of changes of at least a given size (McCarthy and Smyth 2009).
 *
 * The code neither allocates nor depends on the server.
 */
#ifndef PFS_CHANGES_H
#define PFS_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PfsDesign
{
	PFS_DESIGN_PAIRED,	/* each host before and after */
	PFS_DESIGN_CANARY,	/* hosts with the new version against the others, at the same times */
	PFS_DESIGN_UNPAIRED /* hosts of the base against other hosts after the deploy */
} PfsDesign;

/*
 * Sums in the unit of the profile type. Cell (function, host, period) is at
 * sums[(function * host_count + host) * period_count + period]; wholes has the sum of all
 * functions, also of those that are not judged, at [host * period_count + period]. The last period
 * is the one after the deploy, the others are the base, all of equal length.
 */
typedef struct PfsCells
{
	uint32_t function_count;
	uint32_t host_count;
	uint32_t period_count; /* at least 2; at least 3 for noise of the past */
	const double *sums;
	const double *wholes;
	double quantum; /* value of one sample, > 0; half of it replaces zero */
	/*
	 * Like wholes, but of all that ran on a host, also of another version. They may be counts of
	 * requests, which do not have the noise of any function. 0 means unknown. If it is NULL, wholes
	 * is used.
	 */
	const double *loads;
	bool loads_are_requests;
	void (*tick)(void); /* called for each function of a contrast; may be NULL */
	PfsDesign design;
	const bool *is_new; /* for each host, whether it has the new version; for PFS_DESIGN_CANARY */
} PfsCells;

typedef struct PfsChange
{
	double base_share;
	double share;
	/* logarithm; NAN if the function is missing on a side, or fewer than 3 hosts have most of it */
	double change;
	double error;		/* standard error of change */
	double freedom;		/* its degrees of freedom */
	double p_value;		/* 1 if change is NAN */
	uint32_t far_hosts; /* hosts beyond the bound, which count as if at the bound */
} PfsChange;

typedef struct PfsChangeBasis
{
	/*
	 * Hosts that count on the two sides: for a canary those with the new version and the others;
	 * for hosts that are not paired those after the deploy and before; otherwise both are the hosts
	 * with samples before and after.
	 */
	uint32_t hosts[2];
	double paired_share; /* share of the samples after the deploy that are of hosts in the base */
	/*
	 * logarithm of the ratio of loads after and before, as the mean over hosts; for a canary, minus
	 * that of the other hosts
	 */
	double load_change;
} PfsChangeBasis;

/*
 * Results of functions that divide the whole among them, for judging others. changes has the change
 * of the median code, with each period in the place of the one after the deploy. load_noise is the
 * variance that the functions' noise adds to the logarithm of a host's whole; that part of it is
 * not load.
 */
typedef struct PfsReference
{
	double *changes; /* one for each period */
	double load_noise;
	double variance; /* mean square of the changes of past periods that have samples */
	bool is_known;
} PfsReference;

/* Returns the bytes of scratch that pfs_changes_judge() needs. */
size_t pfs_changes_scratch_bytes(const PfsCells *cells);

/*
 * Judges all functions. least is the largest change that counts as no change, as a logarithm. An
 * unknown reference is computed from these functions, which should be own values; a known one is
 * used.
 */
void pfs_changes_judge(const PfsCells *cells, double least, PfsReference *reference,
					   PfsChange *changes, PfsChangeBasis *basis, void *scratch);

#endif
