/*
 * fleet.h
 *		A simulated fleet around a deploy: sums of samples by function, host and period, with
 *		the noise of a real service.
 *
 * The rate of function f on host h in block t of five minutes is
 *
 *		load(h, t) * hertz * cores * share(f) *
 *			exp(host(f, h) + drift(f, h, t) + common(f, t) + slope(f) * log load(h, t) + mix(f, t))
 *
 * where drift, common and mix are Ornstein-Uhlenbeck processes. Counts are Poisson. The first three
 * functions have the shares of FLEET_PLANTED; their cost grows by a given effect with the deploy.
 */
#ifndef PFS_FLEET_H
#define PFS_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#define FLEET_PLANTED_COUNT 3

typedef struct FleetModel
{
	uint32_t functions;
	uint32_t hosts;
	double cores;		 /* busy cores of a host */
	uint32_t minutes;	 /* length of a period; a multiple of 5 */
	uint32_t base_count; /* periods of the base */
	double effect;		 /* growth of the cost of the planted functions: 0.05 for 5 % */
	double mix_step;	 /* logarithm of a step of the traffic mix at the deploy */
	double load_step;	 /* logarithm of a step of the load at the deploy */
	/* the last host's memory gets slower at the deploy, so that its code takes longer */
	bool has_slow_host;
	bool is_canary;		/* only half of the hosts get the new version */
	bool counting_only; /* no noise but that of counting */
} FleetModel;

typedef struct Fleet
{
	double *sums;	/* sums of samples, arranged as in PfsCells */
	double *wholes; /* sum of each host and period */
	bool *is_new;	/* for each host, whether it gets the new version */
} Fleet;

extern const double fleet_planted[FLEET_PLANTED_COUNT];

/* Returns the model of the study: 50 hosts, 19 Hz on 8 busy cores, 120 functions. */
FleetModel fleet_model(void);

/* Makes a fleet from a seed; ends the program if there is no memory. */
Fleet fleet_make(const FleetModel *model, uint64_t seed);
void fleet_free(Fleet *fleet);

typedef struct FleetScore
{
	int found[FLEET_PLANTED_COUNT]; /* runs in which the planted change was found */
	int alarms;						/* runs with a false discovery */
	int warned; /* runs that regressions() warns of, see pfs_changes_are_many() */
	/* mean share of false discoveries among the discoveries of a run */
	double false_rate;
	double covered; /* share of the 95 % intervals that contain the true value */
} FleetScore;

/*
 * Judges fleets with the seeds 1 .. runs as regressions() does: functions of at least a thousandth
 * of the whole, changes of at least 0.5 %, a false discovery rate of 5 %.
 */
FleetScore fleet_score(const FleetModel *model, int runs);

#endif
