/*
 * fleets.c
 *		Measures which planted changes the statistic of regressions() finds in simulated fleets, and
 *		how often it reports one that was not planted.
 *
 *		fleets RUNS
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/fleet.h"

static void
fleets_print(const char *name, const FleetModel *model, int runs)
{
	FleetScore score = fleet_score(model, runs);

	printf("| %-40s |", name);
	for (int i = 0; i < FLEET_PLANTED_COUNT; i++)
		printf(" %4.0f", 100.0 * score.found[i] / runs);
	printf(" | %4.1f | %4.1f | %4.1f | %4.1f |\n", 100 * score.false_rate,
		   100.0 * score.alarms / runs, 100.0 * score.warned / runs, 100 * score.covered);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 0;
	FleetModel hour = fleet_model();
	FleetModel model = hour;

	if (runs < 1)
	{
		fprintf(stderr, "usage: fleets RUNS\n");
		return 2;
	}
	printf(
		"| fleet of 50 hosts, %d runs | found of 0.5, 2, 10 %% (%%) | false discoveries (%%) | runs with "
		"one (%%) | runs with a warning of the traffic (%%) | intervals that have the truth (%%) "
		"|\n|---|---|---|---|---|---|\n",
		runs);
	fleets_print("nothing planted, 1 h after, 24 h before", &hour, runs);
	model.effect = 0.05;
	fleets_print("5 %, 1 h after, 24 h before", &model, runs);
	model.effect = 0.02;
	fleets_print("2 %, 1 h after, 24 h before", &model, runs);
	model.minutes = 480;
	model.base_count = 9;
	fleets_print("2 %, 8 h after, 72 h before", &model, runs);
	model.effect = 0;
	fleets_print("nothing planted, 8 h after, 72 h before", &model, runs);
	model = hour;
	model.load_step = log(2);
	fleets_print("nothing planted, twice the load", &model, runs);
	model = hour;
	model.mix_step = 0.10;
	fleets_print("a step of the traffic of 10 %", &model, runs);
	model.is_canary = true;
	fleets_print("the same step, 25 hosts as a canary", &model, runs);
	model.mix_step = 0;
	model.effect = 0.05;
	fleets_print("5 %, 25 hosts as a canary", &model, runs);
	return 0;
}
