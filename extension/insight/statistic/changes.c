/*
 * changes.c
 *		Estimates changes and their errors.
 *
 * 1. changes_find_slopes(): from the base, how each function's share follows the load.
 * 2. changes_contrast(): the changes if one period is taken for the one after the deploy: first
 *    each period of the base in turn, then the one after the deploy.
 * 3. changes_draw_together(): the excess of the past over the differences between hosts.
 * 4. changes_decide(): errors and p-values.
 */
#include "insight/statistic/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "insight/statistic/student.h"

/*
 * A host whose ratio deviates from the median by more than this many deviations counts as if it
 * were at the bound. The deviation is that of the hosts, but at least that of the host's counts.
 */
#define FAR_DEVIATIONS 4.0

/* Standard deviation of a normal distribution divided by its median absolute deviation. */
#define DEVIATION_OF_MEDIAN 1.4826

/* A host weighs at most this many times the mean weight. */
#define MAX_HOST_WEIGHT 3.0

/* A function's weight in the reference is at most the weight of the one with this rank. */
#define REFERENCE_RANK 4

/* Bound on the variance that rounding gives to a function with equal shares on all hosts. */
#define LEAST_VARIANCE 1e-20

/* A function is judged if its cost is spread over at least this many hosts of equal weight. */
#define LEAST_HOSTS 2.5

/*
 * For a function whose share of the total is larger, no slope of its cost against the rest of the
 * total is estimated, because too little remains as the rest.
 */
#define MAX_SLOPE_SHARE 0.5

#define MAX_PRIOR_FREEDOM  100.0
#define LEAST_EXCESS	   1e-6
#define LEAST_PRIOR_SPREAD 0.01

/*
 * Slopes are estimated if the load varies at least this many times as much as noise, and with this
 * standard deviation at least; otherwise they are assumed to deviate by UNKNOWN_SLOPE.
 */
#define LEAST_LOAD_OF_NOISE 2.0
#define LEAST_LOAD_SPREAD	0.005
#define UNKNOWN_SLOPE		0.05

typedef struct Contrast
{
	double change;
	double variance;
	double freedom; /* degrees of freedom of the variance */
	double base_share;
	double share;
	uint32_t far_hosts;
} Contrast;

/*
 * The hosts on one side of a contrast, or on both, with their weights; 0 for hosts that are left
 * out.
 */
typedef struct HostGroup
{
	double *weights;
	uint32_t count; /* hosts with a weight */
	double load;	/* mean logarithm of the ratio of all values */
} HostGroup;

typedef struct Judge
{
	const PfsCells *cells;
	uint32_t base_count; /* periods of the base */
	double *base_wholes; /* for each host, the whole of all periods of the base */
	double *base_sums;	 /* for each function and host, the sum of all periods of the base */
	double *before;		 /* for each host, the whole of the base of a contrast */
	/* for each host, the whole of the period that is contrasted with the base */
	double *after;
	double *ratios;		   /* for each host, the logarithm of its ratio */
	double *sorted;		   /* copy of ratios, sorted */
	double *shares_before; /* for each host, the share of the function before */
	double *shares_after;  /* for each host, the share of the function after */
	/* one group of all hosts; for a canary, hosts with the new version, and other hosts */
	HostGroup groups[2];
	uint32_t group_count;
	/* for each function, the change of the logarithm of its share by that of the load */
	double *slopes;
	double *slope_variance; /* variance of each slope */
	double *time_errors;	/* work space, one value for each period of the base */
	Contrast *contrasts;	/* one for each function */
	/* for each function, the sum of the excess over the past periods, then its mean */
	double *excess;
	uint32_t *pasts; /* for each function, the number of periods in excess */
	double *values;	 /* work space, one value for each function; also for weights */
	double *weights;
	uint32_t *order; /* work space, one number for each function */
} Judge;

static int
compare_doubles(const void *a, const void *b)
{
	double left = *(const double *) a;
	double right = *(const double *) b;

	return (left > right) - (left < right);
}

/* Returns the median; sorts the values. */
static double
median_of(double *values, uint32_t count)
{
	qsort(values, count, sizeof(double), compare_doubles);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const double *
judge_cell(const Judge *judge, uint32_t function, uint32_t host)
{
	const PfsCells *cells = judge->cells;

	return cells->sums +
		   ((size_t) function * cells->host_count + host) * (size_t) cells->period_count;
}

static double
judge_whole(const Judge *judge, uint32_t host, uint32_t period)
{
	return judge->cells->wholes[(size_t) host * judge->cells->period_count + period];
}

static double
judge_load(const Judge *judge, uint32_t host, uint32_t period)
{
	/* Without counts of requests a host's samples stand for its load. */
	const double *loads = judge->cells->loads == NULL ? judge->cells->wholes : judge->cells->loads;

	return loads[(size_t) host * judge->cells->period_count + period];
}

/* Returns the sum of the base without one of its periods. */
static double
judge_base_sum(const Judge *judge, uint32_t function, uint32_t host, uint32_t now)
{
	double sum = judge->base_sums[(size_t) function * judge->cells->host_count + host];

	/* now is a period of the base only while the past is judged. */
	return now < judge->base_count ? sum - judge_cell(judge, function, host)[now] : sum;
}

/* Adds up the base periods, by host and by function and host. */
static void
judge_add_base(Judge *judge)
{
	const PfsCells *cells = judge->cells;

	/* All contrasts need these sums, so they are added up once. */
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		judge->base_wholes[host] = 0;
		for (uint32_t period = 0; period < judge->base_count; period++)
			judge->base_wholes[host] += judge_whole(judge, host, period);
	}
	for (uint32_t function = 0; function < cells->function_count; function++)
		for (uint32_t host = 0; host < cells->host_count; host++)
		{
			const double *cell = judge_cell(judge, function, host);
			double sum = 0;

			for (uint32_t period = 0; period < judge->base_count; period++)
				sum += cell[period];
			judge->base_sums[(size_t) function * cells->host_count + host] = sum;
		}
}

/* --- slopes --- */

/* Sums over the periods of the base, computed from logarithms minus their means within a host. */
typedef struct SlopeTerms
{
	double cross;	/* products of share and load */
	double loads;	/* squares of loads */
	double shares;	/* squares of shares */
	uint32_t count; /* degrees of freedom */
} SlopeTerms;

/*
 * Takes the logarithms of the load and of the function's share in a cell. Returns false if the host
 * was not there.
 */
static bool
slope_point(const Judge *judge, uint32_t function, uint32_t host, uint32_t period, double *x,
			double *y)
{
	double whole = judge_whole(judge, host, period);
	double load = judge_load(judge, host, period);

	/* The host had no samples in the period, or its load is unknown. */
	if (whole <= 0 || load <= 0)
		return false;
	*x = log(load);
	/* Half a sample is added to the sum, because the logarithm of a share of 0 is infinite. */
	*y = log((fmax(judge_cell(judge, function, host)[period], 0) + judge->cells->quantum / 2) /
			 whole);
	return true;
}

/* Adds the terms of a host. Returns its means of both logarithms. */
static void
slope_add_host(const Judge *judge, uint32_t function, uint32_t host, SlopeTerms *terms,
			   double means[2])
{
	double load = 0;
	double share = 0;
	SlopeTerms sums = { 0 };
	uint32_t count = 0;

	for (uint32_t period = 0; period < judge->base_count; period++)
	{
		double x;
		double y;

		if (!slope_point(judge, function, host, period, &x, &y))
			continue;
		load += x;
		share += y;
		sums.cross += x * y;
		sums.loads += x * x;
		sums.shares += y * y;
		count++;
	}
	means[0] = load / fmax(count, 1);
	means[1] = share / fmax(count, 1);
	/* A single period does not vary; it only gives the means. */
	if (count < 2)
		return;
	/*
	 * Only the variation within a host counts, because hosts differ in load and share at all times.
	 */
	terms->cross += sums.cross - load * share / count;
	/* Rounding may make a sum of squares negative. */
	terms->loads += fmax(sums.loads - load * load / count, 0);
	terms->shares += fmax(sums.shares - share * share / count, 0);
	terms->count += count - 1;
}

/* Adds the terms of all hosts. */
static void
slope_add_hosts(const Judge *judge, uint32_t function, SlopeTerms *terms)
{
	double means[2];

	for (uint32_t host = 0; host < judge->cells->host_count; host++)
		slope_add_host(judge, function, host, terms, means);
}

/* Returns a function's share of the whole in the base. */
static double
judge_base_share(const Judge *judge, uint32_t function)
{
	double sum = 0;
	double whole = 0;

	for (uint32_t host = 0; host < judge->cells->host_count; host++)
	{
		sum += judge->base_sums[(size_t) function * judge->cells->host_count + host];
		whole += judge->base_wholes[host];
	}
	return whole > 0 ? sum / whole : 0;
}

/*
 * The total of a host varies with the noise of each function, too. This variation is not load, and
 * would give slopes to functions that have none: large ones a positive slope, small ones a negative
 * slope.
 */
static double
judge_load_noise(const Judge *judge)
{
	double noise = 0;

	/* Requests are counted apart from samples, so they lack the noise of functions. */
	if (judge->cells->loads_are_requests)
		return 0;
	for (uint32_t function = 0; function < judge->cells->function_count; function++)
	{
		double share = judge_base_share(judge, function);
		SlopeTerms terms = { 0 };

		slope_add_hosts(judge, function, &terms);
		if (terms.count > 0)
			/* A function's part in the variance of the logarithm of the total. */
			noise += share * share * terms.shares / terms.count;
	}
	return noise;
}

/*
 * Returns the variance of a function's slope. Its errors may be correlated over the times of a
 * host, and over the hosts at a time, because all share the traffic (Cameron, Gelbach and Miller
 * 2011, "Robust inference with multiway clustering").
 */
static double
slope_error(const Judge *judge, uint32_t function, double slope, double loads)
{
	double hosts = 0;
	double times = 0;
	double cells = 0;

	memset(judge->time_errors, 0, sizeof(double) * judge->base_count);
	for (uint32_t host = 0; host < judge->cells->host_count; host++)
	{
		SlopeTerms terms = { 0 };
		double means[2];
		double sum = 0;

		slope_add_host(judge, function, host, &terms, means);
		for (uint32_t period = 0; period < judge->base_count; period++)
		{
			double x;
			double y;
			double error;

			if (!slope_point(judge, function, host, period, &x, &y))
				continue;
			/* A cell's influence on the slope: its deviation in load times its residual. */
			error = (x - means[0]) * (y - means[1] - slope * (x - means[0]));
			sum += error;
			cells += error * error;
			judge->time_errors[period] += error;
		}
		/* Errors of a host are summed before they are squared, so their correlation counts. */
		hosts += sum * sum;
	}
	for (uint32_t period = 0; period < judge->base_count; period++)
		times += judge->time_errors[period] * judge->time_errors[period];
	/* Each cell's square is in both sums, so it is subtracted once. */
	return (hosts + fmax(times - cells, 0)) / (loads * loads);
}

/*
 * Computes the slopes of all functions, each shrunk towards 0 by its own error. If the load of the
 * base varies little more than by noise, slopes are unknown.
 */
static void
changes_find_slopes(Judge *judge, double load_noise)
{
	uint32_t count = judge->cells->function_count;
	double prior = 0;

	for (uint32_t function = 0; function < count; function++)
	{
		SlopeTerms terms = { 0 };
		double noise;
		double own_noise;

		slope_add_hosts(judge, function, &terms);
		/*
		 * terms.loads is a sum of squares with terms.count degrees of freedom, the noise is that of
		 * one.
		 */
		noise = load_noise * terms.count;
		if (terms.count == 0 || terms.loads < LEAST_LOAD_OF_NOISE * noise ||
			terms.loads <= LEAST_LOAD_SPREAD * LEAST_LOAD_SPREAD * terms.count)
		{
			for (uint32_t i = 0; i < count; i++)
			{
				judge->slopes[i] = 0;
				judge->slope_variance[i] = UNKNOWN_SLOPE * UNKNOWN_SLOPE;
			}
			return;
		}
		/*
		 * If samples are the load, the noise e of a function is in both logarithms: it adds share *
		 * var(e) - noise to their covariance, which is subtracted here.
		 */
		own_noise = judge->cells->loads_are_requests
						? 0
						: noise - judge_base_share(judge, function) * terms.shares;
		judge->slopes[function] = (terms.cross + own_noise) / (terms.loads - noise);
		judge->slope_variance[function] =
			slope_error(judge, function, terms.cross / terms.loads, terms.loads - noise);
		/*
		 * True slopes and errors together make the squares; without the errors the variance of the
		 * true slopes is left.
		 */
		prior +=
			judge->slopes[function] * judge->slopes[function] - judge->slope_variance[function];
	}
	prior = fmax(prior / fmax(count, 1), 0);
	for (uint32_t function = 0; function < count; function++)
	{
		double variance = judge->slope_variance[function];
		/* The part of the variance that is not error is kept (empirical Bayes). */
		double kept = prior + variance > 0 ? prior / (prior + variance) : 0;

		if (!judge->cells->loads_are_requests &&
			judge_base_share(judge, function) > MAX_SLOPE_SHARE)
			kept = 0;

		judge->slopes[function] *= kept;
		judge->slope_variance[function] *= kept;
	}
}

/* --- one contrast --- */

static bool
host_in_group(const PfsCells *cells, uint32_t group, uint32_t host)
{
	/* A canary has two groups: 0 with the new version, 1 without it. */
	return cells->design != PFS_DESIGN_CANARY || cells->is_new[host] == (group == 0);
}

/*
 * Computes the weights of the hosts of a group, whose sum is 1. A host with a more exact ratio
 * weighs more, so the weight is the harmonic mean of its sums on both sides. Hosts that are not
 * paired are weighted by their share of a side.
 */
static void
group_weigh(Judge *judge, HostGroup *group, uint32_t number)
{
	const PfsCells *cells = judge->cells;
	bool paired = cells->design != PFS_DESIGN_UNPAIRED;
	double sum = 0;
	double bounded = 0;

	group->count = 0;
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		double before = judge->before[host];
		double after = judge->after[host];
		double weight = 0;

		/* A host without samples on one side is no pair. */
		if (host_in_group(cells, number, host) && paired && before > 0 && after > 0)
			weight = 1 / (1 / before + 1 / after);
		group->weights[host] = weight;
		group->count += weight > 0;
		sum += weight;
	}
	/*
	 * One large host must not decide alone, so weights are bounded, and then scaled to the sum 1
	 * again.
	 */
	for (uint32_t host = 0; host < cells->host_count && sum > 0; host++)
	{
		group->weights[host] = fmin(group->weights[host] / sum, MAX_HOST_WEIGHT / group->count);
		bounded += group->weights[host];
	}
	for (uint32_t host = 0; host < cells->host_count && bounded > 0; host++)
		group->weights[host] /= bounded;
}

/* Prepares hosts for a contrast in which a period takes the place of the one after the deploy. */
static void
judge_prepare_hosts(Judge *judge, uint32_t now)
{
	const PfsCells *cells = judge->cells;

	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		judge->after[host] = judge_whole(judge, host, now);
		judge->before[host] = judge->base_wholes[host];
		/* A period of the base is contrasted with the other periods. */
		if (now < judge->base_count)
			judge->before[host] -= judge->after[host];
	}
	for (uint32_t number = 0; number < judge->group_count; number++)
	{
		HostGroup *group = &judge->groups[number];
		double sum = 0;
		uint32_t known = 0;

		group_weigh(judge, group, number);
		for (uint32_t host = 0; host < cells->host_count; host++)
		{
			uint32_t periods = 0;
			double base = 0;

			if (group->weights[host] <= 0)
				continue;
			/*
			 * Sums the load of the base, without the contrasted period and periods of unknown load.
			 */
			for (uint32_t period = 0; period < judge->base_count; period++)
			{
				if (period == now || judge_load(judge, host, period) <= 0)
					continue;
				base += judge_load(judge, host, period);
				periods++;
			}
			if (periods == 0 || judge_load(judge, host, now) <= 0)
				continue;
			/* base / periods is the mean load of a period of the base. */
			sum += log(judge_load(judge, host, now) / base * periods);
			known++;
		}
		group->load = known > 0 ? sum / known : 0;
	}
}

/*
 * Moves the shares of hosts whose ratio is far from the others' to the bound; returns their number.
 * Hosts without the function are left out, because they have no ratio.
 */
static uint32_t
group_bound_far_hosts(Judge *judge, const HostGroup *group)
{
	const PfsCells *cells = judge->cells;
	double half = cells->quantum / 2;
	uint32_t count = 0;
	uint32_t far_hosts = 0;
	double middle;
	double deviation;

	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		double before = judge->shares_before[host];
		double after = judge->shares_after[host];

		if (group->weights[host] <= 0 || before + after <= 0)
			continue;
		/*
		 * Half a sample on each side gives a finite ratio to a host that lacks the function on one
		 * side.
		 */
		judge->ratios[host] =
			log((fmax(after, 0) * judge->after[host] + half) / judge->after[host]) -
			log((fmax(before, 0) * judge->before[host] + half) / judge->before[host]);
		judge->sorted[count++] = judge->ratios[host];
	}
	/* Two hosts have no majority from which one could be far. */
	if (count < 3)
		return 0;
	middle = median_of(judge->sorted, count);
	for (uint32_t i = 0; i < count; i++)
		judge->sorted[i] = fabs(judge->sorted[i] - middle);
	deviation = DEVIATION_OF_MEDIAN * median_of(judge->sorted, count);
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		double before = fmax(judge->shares_before[host], 0) * judge->before[host] + half;
		double after = fmax(judge->shares_after[host], 0) * judge->after[host] + half;
		double distance;
		double bound;

		if (group->weights[host] <= 0 ||
			judge->shares_before[host] + judge->shares_after[host] <= 0)
			continue;
		distance = judge->ratios[host] - middle;
		/*
		 * n samples have a relative variance of 1 / n, and n is the value divided by the quantum.
		 */
		bound = FAR_DEVIATIONS *
				fmax(deviation, sqrt(cells->quantum / before + cells->quantum / after));
		if (fabs(distance) <= bound)
			continue;
		far_hosts++;
		/* Only the share after the deploy moves: the base stays as it was measured. */
		judge->shares_after[host] =
			judge->shares_before[host] * exp(middle + copysign(bound, distance));
	}
	return far_hosts;
}

/*
 * Adds a part to both sums. The square of the sum of parts, divided by the sum of their squares, is
 * the number of parts if all had equal size.
 */
static void
add_part(double part, double *parts, double *squares)
{
	*parts += part;
	*squares += part * part;
}

/*
 * Computes the change of a function in a group of paired hosts, and its variance by host. A
 * function that runs on few of the hosts has few degrees of freedom.
 */
static Contrast
group_contrast(Judge *judge, const HostGroup *group, uint32_t function, uint32_t now)
{
	const PfsCells *cells = judge->cells;
	Contrast contrast = { .change = NAN };
	double before = 0;
	double after = 0;
	double parts = 0;
	double squares = 0;
	double hosts;

	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		if (group->weights[host] <= 0)
			continue;
		judge->shares_before[host] =
			judge_base_sum(judge, function, host, now) / judge->before[host];
		judge->shares_after[host] = judge_cell(judge, function, host)[now] / judge->after[host];
		contrast.base_share += group->weights[host] * judge->shares_before[host];
		contrast.share += group->weights[host] * judge->shares_after[host];
	}
	/*
	 * base_share and share describe all hosts as measured; the change below is that with far hosts
	 * at the bound.
	 */
	contrast.far_hosts = group_bound_far_hosts(judge, group);
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		if (group->weights[host] <= 0)
			continue;
		before += group->weights[host] * judge->shares_before[host];
		after += group->weights[host] * judge->shares_after[host];
		add_part(group->weights[host] * (judge->shares_before[host] + judge->shares_after[host]),
				 &parts, &squares);
	}
	/* The effective number of hosts, see add_part(). */
	hosts = squares > 0 ? parts * parts / squares : 0;
	if (before <= 0 || after <= 0 || hosts < LEAST_HOSTS)
		return contrast;
	contrast.change = log(after / before);
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		/* The derivative of log(after / before) by the host's part. */
		double influence = group->weights[host] * (judge->shares_after[host] / after -
												   judge->shares_before[host] / before);

		if (group->weights[host] > 0)
			contrast.variance += influence * influence;
	}
	/* Bessel's correction, for the effective number of hosts. */
	contrast.variance *= hosts / (hosts - 1);
	contrast.freedom = hosts - 1;
	/* The load explains this part of the change. */
	contrast.change -= judge->slopes[function] * group->load;
	return contrast;
}

/*
 * Adds the variance of one side of an unpaired contrast, in which hosts are weighted by their
 * samples.
 */
static double
unpaired_side(const Judge *judge, const double *wholes, uint32_t function, uint32_t now,
			  bool is_base, double *variance, double *hosts)
{
	const PfsCells *cells = judge->cells;
	double sum = 0;
	double squares = 0;
	double whole = 0;

	*variance = 0;
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		if (wholes[host] <= 0)
			continue;
		add_part(is_base ? judge_base_sum(judge, function, host, now)
						 : judge_cell(judge, function, host)[now],
				 &sum, &squares);
		whole += wholes[host];
	}
	*hosts = squares > 0 ? sum * sum / squares : 0;
	/* With too few hosts only the share is known. */
	if (*hosts < LEAST_HOSTS || sum <= 0)
		return sum > 0 ? sum / whole : 0;
	for (uint32_t host = 0; host < cells->host_count; host++)
	{
		double value;
		double influence;

		if (wholes[host] <= 0)
			continue;
		value = is_base ? judge_base_sum(judge, function, host, now)
						: judge_cell(judge, function, host)[now];
		/* The host's influence on the logarithm of sum / whole. */
		influence = value / sum - wholes[host] / whole;
		*variance += influence * influence;
	}
	*variance *= *hosts / (*hosts - 1);
	return sum / whole;
}

/*
 * Compares sides that consist of different hosts, by the variance between the hosts of each side.
 */
static Contrast
unpaired_contrast(Judge *judge, uint32_t function, uint32_t now)
{
	Contrast contrast = { .change = NAN };
	double base_variance;
	double base_hosts;
	double hosts;

	contrast.base_share =
		unpaired_side(judge, judge->before, function, now, true, &base_variance, &base_hosts);
	contrast.share =
		unpaired_side(judge, judge->after, function, now, false, &contrast.variance, &hosts);
	contrast.variance += base_variance;
	/* The side with fewer hosts gives a lower bound of the freedom. */
	contrast.freedom = fmin(base_hosts, hosts) - 1;
	if (base_hosts >= LEAST_HOSTS && hosts >= LEAST_HOSTS)
		contrast.change = log(contrast.share / contrast.base_share);
	return contrast;
}

/* Returns the change of the median code: the median of the functions, weighted by their shares. */
static double
judge_reference(Judge *judge)
{
	uint32_t count = 0;
	double bound = INFINITY;
	double all = 0;
	double passed = 0;

	for (uint32_t i = 0; i < judge->cells->function_count; i++)
	{
		if (isnan(judge->contrasts[i].change))
			continue;
		judge->order[count] = i;
		judge->values[count++] = judge->contrasts[i].base_share;
	}
	if (count == 0)
		return 0;
	qsort(judge->values, count, sizeof(double), compare_doubles);
	/* The shares are in ascending order, so this is the one with REFERENCE_RANK from the end. */
	if (count >= REFERENCE_RANK)
		bound = judge->values[count - REFERENCE_RANK];
	for (uint32_t i = 0; i < count; i++)
	{
		const Contrast *contrast = &judge->contrasts[judge->order[i]];

		/* weights has pairs of a change and its weight, sorted by change */
		judge->weights[2 * i] = contrast->change;
		judge->weights[2 * i + 1] = fmin(contrast->base_share, bound);
		all += judge->weights[2 * i + 1];
	}
	qsort(judge->weights, count, 2 * sizeof(double), compare_doubles);
	/* The weighted median is the change at which half of all weight is passed. */
	for (uint32_t i = 0; i < count; i++)
	{
		passed += judge->weights[2 * i + 1];
		if (passed >= all / 2)
			return judge->weights[2 * i];
	}
	return judge->weights[2 * (count - 1)];
}

/* Returns the degrees of freedom of the sum of two variances (Welch 1947). */
static double
welch_freedom(const Contrast *a, const Contrast *b)
{
	double sum = a->variance + b->variance;

	/* The quotient below is undefined if both variances are 0. */
	if (sum <= LEAST_VARIANCE)
		return fmin(a->freedom, b->freedom);
	return sum * sum /
		   (a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom);
}

/*
 * Fills the contrasts with the changes of all functions from the other periods of the base to the
 * given one.
 */
static void
changes_contrast(Judge *judge, uint32_t now, PfsReference *reference)
{
	judge_prepare_hosts(judge, now);
	for (uint32_t function = 0; function < judge->cells->function_count; function++)
	{
		Contrast *contrast = &judge->contrasts[function];

		if (judge->cells->tick != NULL)
			judge->cells->tick();
		if (judge->cells->design == PFS_DESIGN_UNPAIRED)
		{
			*contrast = unpaired_contrast(judge, function, now);
			continue;
		}
		*contrast = group_contrast(judge, &judge->groups[0], function, now);
		if (judge->cells->design == PFS_DESIGN_CANARY)
		{
			Contrast old = group_contrast(judge, &judge->groups[1], function, now);

			contrast->freedom = welch_freedom(contrast, &old);
			/* The hosts without the new version show what would have changed anyway. */
			contrast->change -= old.change;
			contrast->variance += old.variance;
			contrast->far_hosts += old.far_hosts;
		}
	}
	/* Totals are measured against the reference of own values, which is known then. */
	if (!reference->is_known)
		reference->changes[now] = judge_reference(judge);
	for (uint32_t function = 0; function < judge->cells->function_count; function++)
		judge->contrasts[function].change -= reference->changes[now];
}

/* --- noise of the past --- */

/*
 * Contrasts each period of the base with the others, and sums the excess of the changes over their
 * errors.
 */
static void
changes_add_past(Judge *judge, PfsReference *reference)
{
	uint32_t count = judge->cells->function_count;

	memset(judge->excess, 0, sizeof(double) * count);
	memset(judge->pasts, 0, sizeof(uint32_t) * count);
	/* A single period cannot be compared with others. */
	if (judge->base_count < 2)
		return;
	for (uint32_t period = 0; period < judge->base_count; period++)
	{
		changes_contrast(judge, period, reference);
		for (uint32_t function = 0; function < count; function++)
		{
			const Contrast *contrast = &judge->contrasts[function];

			/* A function with equal shares on all hosts has no variance to divide by. */
			if (isnan(contrast->change) || contrast->variance <= LEAST_VARIANCE)
				continue;
			/* 1 is expected if the differences between hosts explain the change. */
			judge->excess[function] += contrast->change * contrast->change / contrast->variance;
			judge->pasts[function]++;
		}
	}
}

/*
 * Estimates the prior of the functions' excess, and its degrees of freedom: 0 if the past has no
 * information. One degree of freedom of the periods is lost, because each is compared with the
 * others.
 */
static double
changes_draw_together(Judge *judge, double *freedom)
{
	uint32_t count = 0;
	double mean = 0;
	double spread = 0;
	double expected = 0;
	double prior;

	for (uint32_t function = 0; function < judge->cells->function_count; function++)
	{
		/* Half of the degrees of freedom, as the functions below need it. */
		double half = (judge->pasts[function] - 1.0) / 2;

		if (judge->pasts[function] < 2)
			continue;
		judge->excess[function] /= 2 * half;
		/*
		 * Takes the logarithm of a scaled chi-squared variable: digamma corrects its mean, trigamma
		 * is its variance (Smyth 2004).
		 */
		judge->values[count] =
			log(fmax(judge->excess[function], LEAST_EXCESS)) - pfs_digamma(half) + log(half);
		mean += judge->values[count++];
		expected += pfs_trigamma(half);
	}
	*freedom = 0;
	/* The spread between functions needs at least two. */
	if (count < 2)
		return 1;
	mean /= count;
	for (uint32_t i = 0; i < count; i++)
		spread += (judge->values[i] - mean) * (judge->values[i] - mean);
	/* The variance between functions, without the errors of their estimates. */
	spread = spread / (count - 1.0) - expected / count;
	*freedom = MAX_PRIOR_FREEDOM;
	/* The excesses differ only by their errors, so all functions share one. */
	if (spread <= LEAST_PRIOR_SPREAD)
		return exp(mean);
	/* The spread of a prior with d degrees of freedom is trigamma(d / 2). */
	prior = fmin(2 * pfs_trigamma_inverse(spread), MAX_PRIOR_FREEDOM);
	*freedom = prior;
	return exp(mean + pfs_digamma(prior / 2) - log(prior / 2));
}

/* --- the decision --- */

static double
judge_load_change(const Judge *judge)
{
	return judge->groups[0].load - (judge->group_count > 1 ? judge->groups[1].load : 0);
}

/*
 * Returns the variance of the reference in the past. A function that is nearly the whole of each
 * host varies little between hosts, and its change is mostly that of the reference.
 */
static double
reference_variance(const Judge *judge, const PfsReference *reference)
{
	double squares = 0;
	uint32_t count = 0;

	for (uint32_t period = 0; period < judge->base_count; period++)
	{
		double whole = 0;

		for (uint32_t host = 0; host < judge->cells->host_count; host++)
			whole += judge_whole(judge, host, period);
		/* A period without samples has no reference. */
		if (whole <= 0 || judge->base_count < 2)
			continue;
		squares += reference->changes[period] * reference->changes[period];
		count++;
	}
	return count > 0 ? squares / count : 0;
}

/* Computes errors and p-values from the contrasts and the excess of the past. */
static void
changes_decide(Judge *judge, const PfsReference *reference, double least, PfsChange *changes)
{
	double prior_freedom;
	double prior = changes_draw_together(judge, &prior_freedom);
	double load = judge_load_change(judge);

	for (uint32_t function = 0; function < judge->cells->function_count; function++)
	{
		const Contrast *contrast = &judge->contrasts[function];
		PfsChange *change = &changes[function];
		double past = judge->pasts[function] > 0 ? judge->pasts[function] - 1.0 : 0;
		double factor = 1;
		double variance;

		*change = (PfsChange){ .base_share = contrast->base_share,
							   .share = contrast->share,
							   .change = contrast->change,
							   .error = NAN,
							   .p_value = 1,
							   .far_hosts = contrast->far_hosts };
		if (isnan(contrast->change))
			continue;
		/* The prior and the function's own excess are weighted by their degrees of freedom. */
		if (prior_freedom + past > 0)
			factor =
				(prior_freedom * prior + past * judge->excess[function]) / (prior_freedom + past);
		variance = contrast->variance + judge->slope_variance[function] * load * load;
		/* A past with more noise enlarges the error; a quiet past does not reduce it. */
		variance = fmax(variance * fmax(factor, 1), reference->variance);
		change->error = sqrt(variance);
		change->freedom = contrast->freedom;
		if (prior_freedom + past > 0)
			change->freedom = fmin(contrast->freedom, prior_freedom + past);
		/*
		 * The error of a function with equal shares on all hosts is that of rounding, so its
		 * p-value would mean nothing.
		 */
		if (contrast->variance <= LEAST_VARIANCE)
			continue;
		/* Tails beyond a true change of the size "least", in both directions. */
		change->p_value =
			fmin(1,
				 pfs_student_tail((fabs(change->change) - least) / change->error, change->freedom) +
					 pfs_student_tail((fabs(change->change) + least) / change->error,
									  change->freedom));
	}
}

static void
changes_describe(const Judge *judge, PfsChangeBasis *basis)
{
	double paired = 0;
	double all = 0;

	*basis = (PfsChangeBasis){ .load_change = judge_load_change(judge) };
	for (uint32_t host = 0; host < judge->cells->host_count; host++)
	{
		bool counts = judge->before[host] > 0 && judge->after[host] > 0;

		for (uint32_t side = 0; side < 2; side++)
		{
			/* Side 0 is the time after the deploy, side 1 the base. */
			if (judge->cells->design == PFS_DESIGN_UNPAIRED)
				basis->hosts[side] += (side == 0 ? judge->after : judge->before)[host] > 0;
			else
				basis->hosts[side] += counts && host_in_group(judge->cells, side, host);
		}
		all += judge->after[host];
		if (counts)
			paired += judge->after[host];
	}
	basis->paired_share = all > 0 ? paired / all : 0;
}

/* Cuts an array from the scratch memory. If scratch is NULL, only counts its bytes. */
static void *
scratch_cut(char *scratch, size_t *used, size_t count, size_t size)
{
	void *array = scratch == NULL ? NULL : scratch + *used;

	/* Multiples of 16 bytes keep all arrays aligned. */
	*used += (count * size + 15) / 16 * 16;
	return array;
}

/* Divides the scratch memory into the arrays. Returns the bytes that are needed. */
static size_t
judge_lay_out(Judge *judge, const PfsCells *cells, char *scratch)
{
	size_t used = 0;
	size_t hosts = cells->host_count;
	size_t functions = cells->function_count;

	/* The last period is the time after the deploy. */
	*judge = (Judge){ .cells = cells,
					  .base_count = cells->period_count - 1,
					  .group_count = cells->design == PFS_DESIGN_CANARY ? 2 : 1 };
	judge->base_wholes = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->base_sums = scratch_cut(scratch, &used, hosts * functions, sizeof(double));
	judge->before = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->after = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->ratios = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->sorted = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->shares_before = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->shares_after = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->groups[0].weights = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->groups[1].weights = scratch_cut(scratch, &used, hosts, sizeof(double));
	judge->slopes = scratch_cut(scratch, &used, functions, sizeof(double));
	judge->slope_variance = scratch_cut(scratch, &used, functions, sizeof(double));
	judge->time_errors = scratch_cut(scratch, &used, cells->period_count, sizeof(double));
	judge->contrasts = scratch_cut(scratch, &used, functions, sizeof(Contrast));
	judge->excess = scratch_cut(scratch, &used, functions, sizeof(double));
	judge->pasts = scratch_cut(scratch, &used, functions, sizeof(uint32_t));
	judge->values = scratch_cut(scratch, &used, functions, sizeof(double));
	judge->weights = scratch_cut(scratch, &used, functions, 2 * sizeof(double));
	judge->order = scratch_cut(scratch, &used, functions, sizeof(uint32_t));
	return used;
}

size_t
pfs_changes_scratch_bytes(const PfsCells *cells)
{
	Judge judge;

	return judge_lay_out(&judge, cells, NULL);
}

void
pfs_changes_judge(const PfsCells *cells, double least, PfsReference *reference, PfsChange *changes,
				  PfsChangeBasis *basis, void *scratch)
{
	Judge judge;

	judge_lay_out(&judge, cells, scratch);
	judge_add_base(&judge);
	if (!reference->is_known)
		reference->load_noise = judge_load_noise(&judge);
	if (cells->design == PFS_DESIGN_UNPAIRED)
	{
		/* other hosts have other loads, so slopes cannot be estimated */
		memset(judge.slopes, 0, sizeof(double) * cells->function_count);
		memset(judge.slope_variance, 0, sizeof(double) * cells->function_count);
	}
	else
		changes_find_slopes(&judge, reference->load_noise);
	changes_add_past(&judge, reference);
	/* The contrasts of the past are overwritten by those that are decided. */
	changes_contrast(&judge, judge.base_count, reference);
	if (!reference->is_known)
		reference->variance = reference_variance(&judge, reference);
	changes_decide(&judge, reference, least, changes);
	changes_describe(&judge, basis);
	reference->is_known = true;
}
