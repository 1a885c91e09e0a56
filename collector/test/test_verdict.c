/*
 * test_verdict.c
 *		Verdicts on simulated runs: how often an increase of 5 % is found, how often equal runs
 *		fail, and the numbers of a comparison that can be computed by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ci/verdict.h"

#define JOBS 1000

/* Noise of the CPU time of a run, and a drift of the machine that ten runs remember. */
#define RUN_NOISE	0.015
#define DRIFT		0.02
#define DRIFT_KEPT	0.9048
#define FIRST_TIME	INT64_C(1000000)
#define SECOND_US	INT64_C(1000000)
#define MEAN_CPU_NS 1e9

static uint64_t random_state;

/* Returns a number between 0 and 1, by the generator SplitMix64. */
static double
random_part(void)
{
	uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return ((double) ((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double
random_normal(void)
{
	double radius = sqrt(-2 * log(random_part()));

	return radius * cos(2 * M_PI * random_part());
}

static void
add_run(RunTable *table, const char *job, bool is_base, double cpu_ns)
{
	table->runs = realloc(table->runs, (table->run_count + 1) * sizeof(StoredRun));
	assert_non_null(table->runs);
	table->runs[table->run_count] =
		(StoredRun){ .time_us = FIRST_TIME + (int64_t) table->run_count * SECOND_US,
					 .job = job,
					 .is_base = is_base,
					 .cpu_ns = cpu_ns };
	table->run_count++;
}

static void
judge(const RunTable *table, bool is_paired, double increase, Verdict *verdict)
{
	const VerdictRules rules = {
		.job = "this", .increase = increase, .quantum = 1, .is_paired = is_paired
	};

	assert_int_equal(verdict_judge(table, &rules, verdict), 0);
}

/*
 * Compares a job of ten pairs whose head takes the base's CPU time times a factor. Returns true if
 * it fails. detectable may be NULL.
 */
static bool
job_fails(double factor, double increase, double *detectable)
{
	double drift = DRIFT * random_normal();
	RunTable table;
	Verdict verdict;
	bool failed;

	run_table_init(&table);
	for (int run = 0; run < 20; run++)
	{
		bool is_base = (run / 2 + run) % 2 == 0;

		drift = DRIFT_KEPT * drift + DRIFT * sqrt(1 - DRIFT_KEPT * DRIFT_KEPT) * random_normal();
		add_run(&table, "this", is_base,
				MEAN_CPU_NS * exp(drift + RUN_NOISE * random_normal()) * (is_base ? 1 : factor));
	}
	judge(&table, true, increase, &verdict);
	assert_null(verdict.reason);
	failed = verdict.has_failed;
	if (detectable != NULL)
		*detectable = verdict.detectable;
	verdict_fini(&verdict);
	run_table_fini(&table);
	return failed;
}

static void
test_pairs(void **state)
{
	int caught = 0;
	int alarms = 0;

	random_state = 1;
	for (int job = 0; job < JOBS; job++)
	{
		caught += job_fails(1.05, 0.01, NULL);
		alarms += job_fails(1, 0.01, NULL);
	}
	print_message("5 %%: %d of %d caught; equal runs: %d failed\n", caught, JOBS, alarms);
	assert_true(caught >= JOBS * 95 / 100);
	assert_true(alarms <= JOBS * 2 / 100);
}

/*
 * Judges a job as "ci run" does by default: ten pairs; twenty, and thirty, while the increase may
 * be chance. spread is the deviation of the logarithm of a run. Adds the number of pairs.
 */
static bool
looked_job_fails(double factor, double spread, int *pairs)
{
	const VerdictRules rules = {
		.job = "this", .increase = 0.01, .quantum = 1, .is_paired = true, .has_looks = true
	};
	RunTable table;
	Verdict verdict = { .is_open = true };
	int count = 0;

	run_table_init(&table);
	while (verdict.is_open && count < 30)
	{
		for (int run = 0; run < 20; run++)
			add_run(&table, "this", run % 2 == 0,
					MEAN_CPU_NS * exp(spread * random_normal()) * (run % 2 == 0 ? 1 : factor));
		count += 10;
		assert_int_equal(verdict_judge(&table, &rules, &verdict), 0);
		assert_false(verdict.is_open && verdict.has_failed);
		verdict_fini(&verdict);
	}
	*pairs += count;
	run_table_fini(&table);
	return verdict.has_failed;
}

/* On a noisy machine ten pairs are too few; with more of them, equal runs fail as rarely. */
static void
test_looks(void **state)
{
	static const double spreads[] = { 0.015, 0.025, 0.035 };

	random_state = 5;
	for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++)
	{
		int caught = 0;
		int alarms = 0;
		int pairs[2] = { 0 };

		for (int job = 0; job < JOBS; job++)
		{
			caught += looked_job_fails(1.05, spreads[i], &pairs[0]);
			alarms += looked_job_fails(1, spreads[i], &pairs[1]);
		}
		print_message("runs that differ by %g %%: 5 %%: %d of %d caught in %.1f pairs; equal: %d "
					  "failed, %.1f pairs\n",
					  100 * spreads[i], caught, JOBS, 1.0 * pairs[0] / JOBS, alarms,
					  1.0 * pairs[1] / JOBS);
		assert_true(caught >= JOBS * 95 / 100);
		assert_true(alarms <= JOBS * 2 / 100);
	}
}

/*
 * An increase as large as a report calls detectable is found 95 times of 100, whether the noise or
 * the bound limits it.
 */
static void
test_detectable(void **state)
{
	static const double bounds[] = { 0, 0.01, 0.03, 0.1, 0.5 };

	random_state = 3;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
	{
		double mean = 0;
		int caught = 0;

		for (int job = 0; job < JOBS; job++)
		{
			double detectable;

			job_fails(1, bounds[i], &detectable);
			mean += detectable / JOBS;
		}
		for (int job = 0; job < JOBS; job++)
			caught += job_fails(1 + mean, bounds[i], NULL);
		print_message("bound %g %%: %.1f %% is detectable, %d of %d caught\n", 100 * bounds[i],
					  100 * mean, caught, JOBS);
		assert_in_range(caught, JOBS * 90 / 100, JOBS * 98 / 100);
	}
}

/* Compares a job whose runs are a little noisier than those of other jobs of its branch. */
static bool
stored_job_fails(double factor)
{
	static const char *const jobs[] = { "1", "2", "3", "4", "5", "6", "7", "8", "this" };
	RunTable table;
	Verdict verdict;
	bool failed;

	run_table_init(&table);
	for (size_t job = 0; job < sizeof(jobs) / sizeof(jobs[0]); job++)
	{
		double of_job = 0.03 * random_normal();

		for (int run = 0; run < 10; run++)
			add_run(&table, jobs[job], false,
					MEAN_CPU_NS * exp(of_job + RUN_NOISE * random_normal()) *
						(job == 8 ? factor : 1));
	}
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, 8);
	failed = verdict.has_failed;
	verdict_fini(&verdict);
	run_table_fini(&table);
	return failed;
}

/* Jobs differ more than their runs, so runs alone would find a change in most equal jobs. */
static void
test_stored_jobs(void **state)
{
	int caught = 0;
	int alarms = 0;

	random_state = 2;
	for (int job = 0; job < JOBS; job++)
	{
		caught += stored_job_fails(1.3);
		alarms += stored_job_fails(1);
	}
	print_message("30 %%: %d of %d caught; equal jobs: %d failed\n", caught, JOBS, alarms);
	assert_true(caught >= JOBS * 95 / 100);
	assert_true(alarms <= JOBS * 2 / 100);
}

/* Jobs that failed are no baseline, and a job that was accepted begins a new one. */
static void
test_marked_jobs(void **state)
{
	static const char *const jobs[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" };
	RunTable table;
	Verdict verdict;
	double change;

	random_state = 6;
	run_table_init(&table);
	for (size_t job = 0; job < 10; job++)
		for (int run = 0; run < 3; run++)
			add_run(&table, jobs[job], false,
					MEAN_CPU_NS * (1 + 0.01 * random_part()) * (job == 7 ? 1.5 : 1));
	for (int run = 0; run < 3; run++)
		add_run(&table, "this", false, MEAN_CPU_NS * 1.1);
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, 10);
	assert_false(verdict.has_failed); /* the noise is that of job 7 */
	verdict_fini(&verdict);

	table.runs[7 * 3].has_failed = true;
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, 9);
	assert_true(verdict.has_failed);
	assert_float_equal(verdict.change, 0.1, 0.01);
	change = verdict.change;
	verdict_fini(&verdict);

	table.runs[4 * 3 + 1].is_accepted = true; /* jobs 4, 5, 6, 8, 9 */
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, 5);
	assert_true(verdict.has_failed);
	assert_true(verdict.change != change);
	verdict_fini(&verdict);

	table.runs[5 * 3 + 1].is_accepted = true;
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.method, VERDICT_NONE);
	verdict_fini(&verdict);
	run_table_fini(&table);
}

/* Runs of jobs that are not compared can be forgotten. */
static void
test_oldest(void **state)
{
	const VerdictRules rules = { .job = "this", .increase = 0.01, .quantum = 1 };
	char names[40][8];
	RunTable table;
	Verdict verdict;
	double change;

	random_state = 4;
	run_table_init(&table);
	for (int job = 0; job < 40; job++)
	{
		/* each fourth job is too short */
		snprintf(names[job], sizeof(names[job]), "job%d", job);
		for (int run = 0; run < (job % 4 == 0 ? 2 : 3); run++)
			add_run(&table, names[job], false, MEAN_CPU_NS * (1 + random_part()));
	}
	for (int run = 0; run < 3; run++)
		add_run(&table, "this", false, MEAN_CPU_NS);
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, VERDICT_JOBS_MAX);
	change = verdict.change;
	verdict_fini(&verdict);

	run_table_forget(&table, verdict_oldest(&table, &rules));
	assert_string_equal(table.runs[0].job, "job9");
	assert_int_equal(table.run_count, 24 * 3 + 7 * 2 + 3);
	judge(&table, false, 0.01, &verdict);
	assert_int_equal(verdict.jobs, VERDICT_JOBS_MAX);
	assert_true(verdict.change == change);
	verdict_fini(&verdict);
	run_table_fini(&table);
}

static void
test_by_hand(void **state)
{
	RunTable table;
	Verdict verdict;

	run_table_init(&table);
	for (int pair = 0; pair < 3; pair++)
	{
		add_run(&table, "this", true, 100);
		add_run(&table, "this", false, 104 + pair);
	}
	judge(&table, true, 0.01, &verdict);
	assert_float_equal(verdict.change, 0.05, 1e-9);
	/*
	 * The variance by the delta method is 3/2 of the sum of (share of a pair - 1/3) squared, so
	 * t is 8.873240. With two degrees of freedom the tail is (1 - t / sqrt(2 + t * t)) / 2.
	 */
	assert_float_equal(verdict.p_value, 0.006232, 1e-5);
	assert_true(verdict.has_failed);
	assert_float_equal(verdict.base_cpu_ns, 100, 1e-9);
	assert_float_equal(verdict.ratios[2], 0.06, 1e-9);
	verdict_fini(&verdict);
	judge(&table, true, 0.06, &verdict);
	assert_false(verdict.has_failed);
	verdict_fini(&verdict);
	run_table_fini(&table);
}

/* Times that are counted in ticks may be equal. */
static void
test_without_noise(void **state)
{
	for (int increase = 0; increase < 2; increase++)
	{
		RunTable table;
		Verdict verdict;

		run_table_init(&table);
		for (int pair = 0; pair < 3; pair++)
		{
			add_run(&table, "this", true, 100);
			add_run(&table, "this", false, 100 + 10 * increase);
		}
		judge(&table, true, 0.01, &verdict);
		assert_int_equal(verdict.has_failed, increase);
		verdict_fini(&verdict);
		run_table_fini(&table);
	}
}

static void
test_no_cpu_time(void **state)
{
	RunTable table;
	Verdict verdict;

	run_table_init(&table);
	for (int run = 0; run < 6; run++)
		add_run(&table, "this", run % 2 == 0, 0);
	judge(&table, true, 0.01, &verdict);
	assert_string_equal(verdict.reason, "the runs have no CPU time");
	assert_int_equal(verdict.method, VERDICT_NONE);
	assert_false(verdict.has_failed);
	verdict_fini(&verdict);
	run_table_fini(&table);
}

static void
test_too_few(void **state)
{
	RunTable table;
	Verdict verdict;

	run_table_init(&table);
	judge(&table, true, 0.01, &verdict);
	assert_non_null(verdict.reason);
	for (int job = 0; job < 4; job++)
		for (int run = 0; run < 3; run++)
			add_run(&table, (const char *const[]){ "1", "2", "3", "4" }[job], false, 100);
	for (int run = 0; run < 3; run++)
		add_run(&table, "this", false, 200);
	judge(&table, false, 0.01, &verdict);
	assert_string_equal(verdict.reason,
						"fewer than 5 jobs of the baseline, of as many runs and on this kind of "
						"machine, are stored");
	assert_false(verdict.has_failed);
	verdict_fini(&verdict);
	run_table_fini(&table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_detectable),	cmocka_unit_test(test_marked_jobs),
		cmocka_unit_test(test_stored_jobs), cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_by_hand),		cmocka_unit_test(test_without_noise),
		cmocka_unit_test(test_no_cpu_time), cmocka_unit_test(test_too_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
