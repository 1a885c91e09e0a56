/*
 * test_changes.c
 *		Tests the statistic of regressions(): its distributions against SciPy, its arithmetic on
 *		three hosts computed by hand, and its results in simulated fleets.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet.h"
#include "insight/statistic/changes.h"
#include "insight/statistic/discoveries.h"
#include "insight/statistic/plain_name.h"
#include "insight/statistic/student.h"

#define MAX_PERIODS 30

/* Number of fleets of each kind; .dev/bench insight makes more. */
#define RUNS 20

#define assert_near(value, expected, error) \
	assert_true(fabs((value) - (expected)) <= (error) *fabs((double) (expected)))

/*
 * Expected values are from scipy.stats.t.sf, scipy.stats.t.isf, scipy.special.digamma and
 * polygamma(1, x).
 */
static void
test_distributions(void **state)
{
	static const double tails[][3] = {
		{ 0.5, 1, 0.35241638234956674 },   { 2, 3.5, 0.06306926128795672 },
		{ 4, 10, 0.0012591663123683473 },  { 8, 49, 9.552719776477738e-11 },
		{ 30, 5, 3.8593243102480265e-07 }, { 0.001, 7, 0.4996150086224994 },
		{ -2, 6, 0.9537868442341625 }
	};
	static const double bounds[][3] = { { 0.025, 10, 2.2281388519862753 },
										{ 0.005, 2.5, 7.163728138948786 },
										{ 1e-06, 49, 5.390798999260053 },
										{ 0.3, 1, 0.7265425280053609 },
										{ 0.9, 4, -1.533206274058944 } };
	static const double gammas[][3] = { { 0.1, -10.423754940411076, 101.43329915079275 },
										{ 1, -0.5772156649015329, 1.6449340668482266 },
										{ 2.5, 0.7031566406452432, 0.4903577561002349 },
										{ 30, 3.384438132685525, 0.033895060357739946 } };

	(void) state;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		assert_near(pfs_student_tail(tails[i][0], tails[i][1]), tails[i][2], 1e-9);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		assert_near(pfs_student_bound(bounds[i][0], bounds[i][1]), bounds[i][2], 1e-9);
	for (size_t i = 0; i < sizeof(gammas) / sizeof(gammas[0]); i++)
	{
		assert_near(pfs_digamma(gammas[i][0]), gammas[i][1], 1e-9);
		assert_near(pfs_trigamma(gammas[i][0]), gammas[i][2], 1e-9);
		assert_near(pfs_trigamma_inverse(gammas[i][2]), gammas[i][0], 1e-7);
	}
}

static void
test_plain_names(void **state)
{
	static const char *const names[][2] = {
		{ "f", "f" },
		{ "", "" },
		{ "f.isra.0", "f" },
		{ "f.constprop.12.isra.0", "f" },
		{ "f.part.3.cold", "f" },
		{ "f.cold.4", "f" },
		{ "f.llvm.1234567890", "f" },
		{ ".cold", ".cold" },
		{ "version.2", "version.2" },
		{ "ArrayList.clone", "ArrayList.clone" },
		{ "x.part", "x.part" },
		{ "a.coldest", "a.coldest" },
		{ "core::ptr::drop_in_place::h0123456789abcdef", "core::ptr::drop_in_place" },
		{ "core::ptr::h0123456789abcdeg", "core::ptr::h0123456789abcdeg" },
		{ "f::{lambda(int)#12}::operator()", "f::{lambda(int)}::operator()" },
		{ "main.serve.func1", "main.serve.func1" },
		{ "color#12}", "color#12}" },
	};

	(void) state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		char *plain = malloc(strlen(names[i][0]) + 1);

		assert_non_null(plain);
		assert_int_equal(pfs_plain_name(names[i][0], strlen(names[i][0]), plain),
						 strlen(names[i][1]));
		assert_string_equal(plain, names[i][1]);
		free(plain);
	}
}

static void
test_false_discovery_rates(void **state)
{
	static const double p[] = { 0.04, 0.001, 1, 0.02, 0.03 };
	/* p * 5 / rank, made monotonic from the largest p on */
	static const double expected[] = { 0.05, 0.005, 1, 0.05, 0.05 };
	double q[5];
	uint32_t order[5];

	(void) state;
	pfs_false_discovery_rates(p, 5, q, order);
	for (int i = 0; i < 5; i++)
		assert_near(q[i], expected[i], 1e-12);
}

static PfsChangeBasis
judge_cells(const PfsCells *cells, double least, PfsChange *changes)
{
	double references[MAX_PERIODS];
	PfsReference reference = { .changes = references };
	PfsChangeBasis basis;
	void *scratch = malloc(pfs_changes_scratch_bytes(cells));

	assert_non_null(scratch);
	pfs_changes_judge(cells, least, &reference, changes, &basis, scratch);
	free(scratch);
	return basis;
}

/*
 * Two functions on three hosts with weights 1 : 1 : 2, and a base of one period. The reference is
 * the larger function, whose share falls from 3/4 to 5/8 on each host; the share of the other one
 * rises from 1/4 to 3/8.
 */
static void
test_three_hosts(void **state)
{
	static const double sums[] = { /* the larger function */
								   300, 250, 300, 250, 600, 500,
								   /* the other one */
								   100, 150, 100, 150, 200, 300
	};
	static const double wholes[] = { 400, 400, 400, 400, 800, 800 };
	PfsCells cells = { .function_count = 2,
					   .host_count = 3,
					   .period_count = 2,
					   .sums = sums,
					   .wholes = wholes,
					   .quantum = 1 };
	PfsChange changes[2];
	PfsChangeBasis basis = judge_cells(&cells, 0, changes);

	(void) state;
	assert_int_equal(basis.hosts[0], 3);
	assert_near(basis.paired_share, 1, 1e-12);
	assert_near(1 + basis.load_change, 1, 1e-12);
	assert_near(changes[0].base_share, 0.75, 1e-12);
	assert_near(changes[1].base_share, 0.25, 1e-12);
	assert_near(changes[1].share, 0.375, 1e-12);
	assert_near(changes[1].change, log(0.375 / 0.25) - log(0.625 / 0.75), 1e-12);
	assert_true(fabs(changes[0].change) < 1e-12);
	assert_int_equal(changes[1].far_hosts, 0);
}

/*
 * A host that is far from the others counts as if it were at the bound, and its error is that of
 * the differences between hosts.
 */
static void
test_far_host(void **state)
{
	enum
	{
		HOSTS = 9
	};
	double sums[2 * HOSTS * 2];
	double wholes[HOSTS * 2];
	PfsCells cells = { .function_count = 2,
					   .host_count = HOSTS,
					   .period_count = 2,
					   .sums = sums,
					   .wholes = wholes,
					   .quantum = 1 };
	PfsChange changes[2];

	(void) state;
	for (int host = 0; host < HOSTS; host++)
	{
		/* the second function changes by factors of 0.96 to 1.03, and by 3 on the last host */
		double after = host == HOSTS - 1 ? 3000 : 960 + 10 * host;

		sums[2 * host] = 9000;
		sums[2 * host + 1] = 10000 - after;
		sums[2 * HOSTS + 2 * host] = 1000;
		sums[2 * HOSTS + 2 * host + 1] = after;
		wholes[2 * host] = wholes[2 * host + 1] = 10000;
	}
	judge_cells(&cells, 0, changes);
	assert_int_equal(changes[1].far_hosts, 1);
	/* without the bound the change would be log(1.22) */
	assert_true(changes[1].change < 0.04);
	assert_true(changes[1].p_value > 0.05);
}

/*
 * A function that is the whole of each host, as main() is by its total, has no noise but that of
 * rounding. That says nothing about its change relative to the code in the middle.
 */
static void
test_whole(void **state)
{
	enum
	{
		HOSTS = 7,
		PERIODS = 5
	};
	double sums[3][HOSTS][PERIODS];
	double wholes[HOSTS][PERIODS];
	PfsCells cells = { .function_count = 3,
					   .host_count = HOSTS,
					   .period_count = PERIODS,
					   .sums = &sums[0][0][0],
					   .wholes = &wholes[0][0],
					   .quantum = 1 };
	PfsChange changes[3];

	(void) state;
	for (int host = 0; host < HOSTS; host++)
		for (int period = 0; period < PERIODS; period++)
		{
			sums[1][host][period] = 70001 + 301 * host + 101 * period;
			sums[2][host][period] = 30011 + 97 * host + (period == PERIODS - 1 ? 5003 : 89 * host);
			sums[0][host][period] = sums[1][host][period] + sums[2][host][period];
			wholes[host][period] = sums[0][host][period];
		}
	judge_cells(&cells, 0, changes);
	assert_near(changes[0].share, 1, 1e-12);
	assert_true(changes[0].p_value == 1);
}

/* Hosts and functions that are missing on one side give no number and no error. */
static void
test_missing(void **state)
{
	static const double sums[] = { /* on all sides */
								   10, 10, 10, 10, 0, 10,
								   /* only before */
								   5, 0, 5, 0, 0, 0,
								   /* nowhere */
								   0, 0, 0, 0, 0, 0
	};
	static const double wholes[] = { 15, 10, 15, 10, 0, 10 };
	static const bool is_new[] = { true, false, true };
	PfsCells cells = { .function_count = 3,
					   .host_count = 3,
					   .period_count = 2,
					   .sums = sums,
					   .wholes = wholes,
					   .quantum = 1,
					   .is_new = is_new };
	PfsChange changes[3];

	(void) state;
	for (PfsDesign design = PFS_DESIGN_PAIRED; design <= PFS_DESIGN_UNPAIRED; design++)
	{
		PfsChangeBasis basis;

		cells.design = design;
		basis = judge_cells(&cells, 0.0025, changes);
		assert_int_equal(basis.hosts[0], design == PFS_DESIGN_PAIRED   ? 2
										 : design == PFS_DESIGN_CANARY ? 1
																	   : 3);
		assert_int_equal(basis.hosts[1], design == PFS_DESIGN_CANARY ? 1 : 2);
		assert_true(isnan(changes[1].change));
		assert_true(isnan(changes[2].change));
		for (int i = 0; i < 3; i++)
			assert_true(changes[i].p_value >= 0 && changes[i].p_value <= 1);
	}
}

/* The seeds are fixed, so every run of the test has the same result. */
static void
test_planted(void **state)
{
	FleetModel model = fleet_model();
	FleetScore score;

	(void) state;
	model.effect = 0.05;
	score = fleet_score(&model, RUNS);
	for (int i = 0; i < FLEET_PLANTED_COUNT; i++)
		assert_true(score.found[i] >= RUNS - 1);
	assert_true(score.false_rate <= 0.07);
	assert_true(score.covered >= 0.91 && score.covered <= 0.99);

	/* a period of 8 hours, compared with one of 72 */
	model.effect = 0.02;
	model.minutes = 480;
	model.base_count = 9;
	score = fleet_score(&model, RUNS);
	for (int i = 0; i < FLEET_PLANTED_COUNT; i++)
		assert_true(score.found[i] >= RUNS - 1);
	assert_true(score.false_rate <= 0.07);
}

/* Nothing is planted; a host gets slow, or the load doubles. */
static void
test_nothing_planted(void **state)
{
	FleetModel model = fleet_model();

	(void) state;
	assert_true(fleet_score(&model, RUNS).alarms <= 2);
	model.load_step = log(2);
	assert_true(fleet_score(&model, RUNS).alarms <= 3);
}

/*
 * The traffic mix changes at the deploy. Only a comparison of hosts at one time can tell that from
 * the effect of the deploy, so that the other design warns.
 */
static void
test_traffic_step(void **state)
{
	FleetModel model = fleet_model();
	FleetScore score;

	(void) state;
	model.mix_step = 0.10;
	score = fleet_score(&model, 5);
	assert_true(score.alarms >= 4);
	assert_true(score.warned >= 4);
	model.is_canary = true;
	assert_true(fleet_score(&model, RUNS).alarms <= 2);
	model = fleet_model();
	model.effect = 0.05;
	assert_int_equal(fleet_score(&model, 5).warned, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distributions),
		cmocka_unit_test(test_plain_names),
		cmocka_unit_test(test_false_discovery_rates),
		cmocka_unit_test(test_three_hosts),
		cmocka_unit_test(test_far_host),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_nothing_planted),
		cmocka_unit_test(test_traffic_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
