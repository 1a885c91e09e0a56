/*
 * fleet.c
 *		Simulates a fleet with noise per function. Deviations: lasting differences of hosts 15 %;
 *		drift of each host 2 % (memory of 20 minutes); fast noise 10 % (60 s); noise common to all
 *		hosts 0.3 % (30 minutes); traffic mix 1.5 % (60 minutes) over a seventh of the functions.
 *		The slope on the load is 0.05, and the load changes by 30 % during a day.
 */
#include "fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "insight/statistic/changes.h"
#include "insight/statistic/discoveries.h"
#include "insight/statistic/student.h"

#define BLOCK_S		  300.0
#define HERTZ		  19.0
#define FAST_MEMORY_S 60.0
#define MAX_FUNCTIONS 200

const double fleet_planted[FLEET_PLANTED_COUNT] = { 0.005, 0.02, 0.10 };

typedef struct Random
{
	uint64_t state;
	double spare;
	bool has_spare;
} Random;

/* Returns 64 random bits (SplitMix64). */
static uint64_t
random_bits(Random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static double
random_uniform(Random *random)
{
	return ((double) (random_bits(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Returns a normally distributed number (Marsaglia's polar method). */
static double
random_normal(Random *random)
{
	double x;
	double y;
	double square;

	if (random->has_spare)
	{
		random->has_spare = false;
		return random->spare;
	}
	do
	{
		x = 2 * random_uniform(random) - 1;
		y = 2 * random_uniform(random) - 1;
		square = x * x + y * y;
	} while (square >= 1 || square == 0);
	square = sqrt(-2 * log(square) / square);
	random->spare = y * square;
	random->has_spare = true;
	return x * square;
}

static double
random_poisson(Random *random, double mean)
{
	double limit;
	double product = 1;
	double count = -1;

	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean) * random_normal(random)));
	limit = exp(-mean);
	do
	{
		product *= random_uniform(random);
		count++;
	} while (product > limit);
	return count;
}

static void *
fleet_allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
	{
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memory;
}

/*
 * Makes one step of an Ornstein-Uhlenbeck process with this memory and standard deviation; returns
 * its new value.
 */
static double
forgetting_step(Random *random, double value, double memory_s, double deviation, bool is_first)
{
	double kept = exp(-BLOCK_S / memory_s);

	if (is_first)
		return deviation * random_normal(random);
	return kept * value + deviation * sqrt(1 - kept * kept) * random_normal(random);
}

/* Returns the deviation of the fast noise in the mean of a block. */
static double
fast_noise(void)
{
	double part = FAST_MEMORY_S / BLOCK_S;

	return 0.10 * sqrt(2 * part * (1 - part * (1 - exp(-1 / part))));
}

FleetModel
fleet_model(void)
{
	return (FleetModel){ .functions = 120,
						 .hosts = 50,
						 .cores = 8,
						 .minutes = 60,
						 .base_count = 24,
						 .has_slow_host = true };
}

typedef struct Noise
{
	double *shares; /* one for each function */
	double *slopes; /* one for each function */
	double *common; /* one for each function */
	double *hosts;	/* one for each function and host, like drift */
	double *drift;
	double *load_of_host; /* one for each host: its lasting share of the load with its own noise */
	double *load_noise;
} Noise;

static Noise
noise_begin(const FleetModel *model, Random *random)
{
	Noise noise = { .shares = fleet_allocate(model->functions, sizeof(double)),
					.slopes = fleet_allocate(model->functions, sizeof(double)),
					.common = fleet_allocate(model->functions, sizeof(double)),
					.hosts =
						fleet_allocate((size_t) model->functions * model->hosts, sizeof(double)),
					.drift =
						fleet_allocate((size_t) model->functions * model->hosts, sizeof(double)),
					.load_of_host = fleet_allocate(model->hosts, sizeof(double)),
					.load_noise = fleet_allocate(model->hosts, sizeof(double)) };
	double scale = model->counting_only ? 0 : 1;
	double rest = 0;
	double planted = 0;

	for (uint32_t f = 0; f < model->functions; f++)
	{
		bool is_planted = f < FLEET_PLANTED_COUNT;

		noise.shares[f] = is_planted ? fleet_planted[f] : exp(random_normal(random));
		*(is_planted ? &planted : &rest) += noise.shares[f];
		noise.slopes[f] = scale * 0.05 * random_normal(random);
		for (uint32_t h = 0; h < model->hosts; h++)
			noise.hosts[f * model->hosts + h] = scale * 0.15 * random_normal(random);
	}
	for (uint32_t f = FLEET_PLANTED_COUNT; f < model->functions; f++)
		noise.shares[f] *= (1 - planted) / rest;
	for (uint32_t h = 0; h < model->hosts; h++)
		noise.load_of_host[h] = scale * 0.3 * random_normal(random);
	return noise;
}

static void
noise_end(Noise *noise)
{
	free(noise->shares);
	free(noise->slopes);
	free(noise->common);
	free(noise->hosts);
	free(noise->drift);
	free(noise->load_of_host);
	free(noise->load_noise);
}

/* Adds the counts of one block to its period. */
static void
fleet_add_block(const FleetModel *model, Fleet *fleet, Noise *noise, Random *random, uint32_t block,
				double load, double mix)
{
	uint32_t per = model->minutes * 60 / (uint32_t) BLOCK_S;
	uint32_t periods = model->base_count + 1;
	uint32_t period = block / per;
	bool is_after = period == model->base_count;
	double scale = model->counting_only ? 0 : 1;
	double fast = scale * fast_noise();

	for (uint32_t h = 0; h < model->hosts; h++)
		noise->load_noise[h] =
			scale * forgetting_step(random, noise->load_noise[h], 900, 0.1, block == 0);
	for (uint32_t f = 0; f < model->functions; f++)
	{
		bool is_planted = f < FLEET_PLANTED_COUNT;
		bool is_bound = f == 1 || (!is_planted && f % 5 == 3);

		noise->common[f] =
			scale * forgetting_step(random, noise->common[f], 1800, 0.003, block == 0);
		for (uint32_t h = 0; h < model->hosts; h++)
		{
			size_t cell = (size_t) f * model->hosts + h;
			double host_load = load + noise->load_of_host[h] + noise->load_noise[h];
			double cost = noise->hosts[cell] + noise->common[f] + noise->slopes[f] * host_load;

			noise->drift[cell] =
				scale * forgetting_step(random, noise->drift[cell], 1200, 0.02, block == 0);
			cost += noise->drift[cell] + (f % 7 == 6 ? mix : 0);
			if (is_after && is_planted && fleet->is_new[h])
				cost += log1p(model->effect);
			if (is_after && model->has_slow_host && is_bound && h == model->hosts - 1)
				cost += log(1.5);
			fleet->sums[cell * periods + period] +=
				random_poisson(random, HERTZ * model->cores * BLOCK_S * noise->shares[f] *
										   exp(cost + host_load) *
										   fmax(0.1, 1 + fast * random_normal(random)));
		}
	}
}

Fleet
fleet_make(const FleetModel *model, uint64_t seed)
{
	Random random = { .state = seed * 0x9e3779b97f4a7c15 + 1 };
	uint32_t periods = model->base_count + 1;
	uint32_t per = model->minutes * 60 / (uint32_t) BLOCK_S;
	Fleet fleet = {
		.sums = fleet_allocate((size_t) model->functions * model->hosts * periods, sizeof(double)),
		.wholes = fleet_allocate((size_t) model->hosts * periods, sizeof(double)),
		.is_new = fleet_allocate(model->hosts, sizeof(bool)),
	};
	Noise noise = noise_begin(model, &random);
	double scale = model->counting_only ? 0 : 1;
	double day = random_uniform(&random);
	double mix = 0;

	for (uint32_t h = 0; h < model->hosts; h++)
		fleet.is_new[h] = !model->is_canary || h < model->hosts / 2;
	for (uint32_t block = 0; block < per * periods; block++)
	{
		bool is_after = block / per == model->base_count;
		double load = scale * 0.3 * sin(2 * M_PI * (block * BLOCK_S / 86400 + day));

		mix = scale * forgetting_step(&random, mix, 3600, 0.015, block == 0);
		fleet_add_block(model, &fleet, &noise, &random, block,
						load + (is_after ? model->load_step : 0),
						mix + (is_after ? model->mix_step : 0));
	}
	for (uint32_t f = 0; f < model->functions; f++)
		for (uint32_t i = 0; i < model->hosts * periods; i++)
			fleet.wholes[i] += fleet.sums[(size_t) f * model->hosts * periods + i];
	noise_end(&noise);
	return fleet;
}

void
fleet_free(Fleet *fleet)
{
	free(fleet->sums);
	free(fleet->wholes);
	free(fleet->is_new);
}

static void
fleet_judge(const PfsCells *cells, PfsChange *changes)
{
	PfsReference reference = { .changes = fleet_allocate(cells->period_count, sizeof(double)) };
	void *scratch = fleet_allocate(pfs_changes_scratch_bytes(cells), 1);
	PfsChangeBasis basis;

	pfs_changes_judge(cells, log1p(0.0025), &reference, changes, &basis, scratch);
	free(scratch);
	free(reference.changes);
}

FleetScore
fleet_score(const FleetModel *model, int runs)
{
	FleetScore score = { 0 };
	int intervals = 0;

	for (int run = 0; run < runs; run++)
	{
		Fleet fleet = fleet_make(model, (uint64_t) run + 1);
		PfsCells cells = { .function_count = model->functions,
						   .host_count = model->hosts,
						   .period_count = model->base_count + 1,
						   .sums = fleet.sums,
						   .wholes = fleet.wholes,
						   .quantum = 1,
						   .design = model->is_canary ? PFS_DESIGN_CANARY : PFS_DESIGN_PAIRED,
						   .is_new = fleet.is_new };
		PfsChange changes[MAX_FUNCTIONS];
		double p[MAX_FUNCTIONS];
		double q[MAX_FUNCTIONS];
		uint32_t order[MAX_FUNCTIONS];
		uint32_t tested[MAX_FUNCTIONS];
		uint32_t count = 0;
		int found = 0;
		int wrong = 0;

		fleet_judge(&cells, changes);
		for (uint32_t f = 0; f < model->functions; f++)
			if (changes[f].base_share >= 0.001)
			{
				tested[count] = f;
				p[count++] = changes[f].p_value;
			}
		pfs_false_discovery_rates(p, count, q, order);
		for (uint32_t i = 0; i < count; i++)
		{
			const PfsChange *change = &changes[tested[i]];
			bool is_planted = tested[i] < FLEET_PLANTED_COUNT && model->effect > 0;
			double truth = is_planted ? log1p(model->effect) : 0;

			score.covered += fabs(change->change - truth) <
							 pfs_student_bound(0.025, change->freedom) * change->error;
			intervals++;
			if (q[i] > 0.05 || fabs(expm1(change->change)) < 0.005)
				continue;
			found++;
			if (is_planted && change->change > 0)
				score.found[tested[i]]++;
			else
				wrong++;
		}
		score.alarms += wrong > 0;
		score.warned += !model->is_canary && pfs_changes_are_many((uint32_t) found, count);
		score.false_rate += found > 0 ? (double) wrong / found / runs : 0;
		fleet_free(&fleet);
	}
	score.covered /= intervals;
	return score;
}
