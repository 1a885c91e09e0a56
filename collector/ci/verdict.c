/*
 * verdict.c
 *		Arranges runs as cells of the statistic, and reads its answers.
 */
#include "ci/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "insight/statistic/changes.h"
#include "insight/statistic/discoveries.h"
#include "insight/statistic/student.h"

/*
 * The gate fails if an increase of the cost is seen that has this probability if nothing changed.
 * Equal runs then fail in less than 1 of 100 jobs.
 */
#define FAIL_TAIL 0.01

/*
 * The probability for each of three looks at a growing number of pairs. A job goes on after a look
 * only if the increase is above the bound, so the three together have about that of FAIL_TAIL.
 */
#define LOOK_TAIL 0.003

/* The rate of false discoveries among functions. */
#define MAX_RATE 0.05

/* A function with fewer samples in all runs is not judged. */
#define LEAST_SAMPLES 400

/* The runs that are compared: that of a host and a period at [host * period_count + period]. */
typedef struct Layout
{
	uint32_t host_count;
	uint32_t period_count;
	size_t *runs;
} Layout;

/* Input and output of one call of the statistic. */
typedef struct Judged
{
	PfsCells cells;
	PfsChange *changes;
	double *wholes;
	double *sums;
	double *reference_changes;
	void *scratch;
} Judged;

/* --- which runs --- */

static bool
run_is_of(const StoredRun *run, const char *job, bool is_base)
{
	return strcmp(run->job, job) == 0 && run->is_base == is_base;
}

/* Lists the runs of a side of a job, at most most of them. Returns their number. */
static uint32_t
runs_of(const RunTable *table, const char *job, bool is_base, size_t *runs, size_t most)
{
	uint32_t count = 0;

	for (size_t i = 0; i < table->run_count && count < most; i++)
	{
		if (run_is_of(&table->runs[i], job, is_base))
			runs[count++] = i;
	}
	return count;
}

/* Pairs: the first run of the base with the first of the head, and so on. */
static const char *
layout_pairs(const RunTable *table, const VerdictRules *rules, size_t *runs, Layout *layout)
{
	uint32_t base = runs_of(table, rules->job, true, runs, table->run_count);
	uint32_t head = runs_of(table, rules->job, false, runs + base, table->run_count - base);

	layout->host_count = base < head ? base : head;
	layout->period_count = 2;
	if (layout->host_count < VERDICT_RUNS_MIN)
		return "fewer than 3 pairs of runs";
	for (uint32_t pair = 0; pair < layout->host_count; pair++)
	{
		layout->runs[2 * pair] = runs[pair];
		layout->runs[2 * pair + 1] = runs[base + pair];
	}
	return NULL;
}

/* Returns whether one of the runs of a job has a mark: that it failed, or that it was accepted. */
static bool
job_has_mark(const RunTable *table, const char *job, bool is_accepted)
{
	for (size_t i = 0; i < table->run_count; i++)
	{
		const StoredRun *run = &table->runs[i];

		if ((is_accepted ? run->is_accepted : run->has_failed) && strcmp(run->job, job) == 0)
			return true;
	}
	return false;
}

/*
 * Lists the newest earlier jobs that are a baseline and have at least this number of runs, newest
 * first. Returns the number of jobs.
 */
static uint32_t
earlier_jobs(const RunTable *table, const VerdictRules *rules, uint32_t least, size_t *runs,
			 const char *jobs[VERDICT_JOBS_MAX])
{
	const char *refused = rules->job; /* the job that was looked at last, and is no baseline */
	uint32_t count = 0;

	for (size_t i = table->run_count; i > 0 && count < VERDICT_JOBS_MAX; i--)
	{
		const char *job = table->runs[i - 1].job;
		bool is_known = strcmp(job, rules->job) == 0 || strcmp(job, refused) == 0;

		for (uint32_t j = 0; j < count && !is_known; j++)
			is_known = strcmp(jobs[j], job) == 0;
		if (is_known)
			continue;
		if (runs_of(table, job, false, runs, least) >= least && !job_has_mark(table, job, false))
			jobs[count++] = job;
		else
			refused = job;
		if (job_has_mark(table, job, true))
			break;
	}
	return count;
}

int64_t
verdict_oldest(const RunTable *table, const VerdictRules *rules)
{
	const char *jobs[VERDICT_JOBS_MAX + 1] = { rules->job };
	size_t *runs = calloc(table->run_count + 1, sizeof(size_t));
	uint32_t count = 1;
	int64_t oldest = INT64_MAX;

	if (runs == NULL)
		return INT64_MIN;
	count += earlier_jobs(table, rules, runs_of(table, rules->job, false, runs, table->run_count),
						  runs, jobs + 1);
	for (uint32_t i = 0; i < count; i++)
	{
		if (runs_of(table, jobs[i], false, runs, 1) > 0)
			oldest = table->runs[runs[0]].time_us < oldest ? table->runs[runs[0]].time_us : oldest;
	}
	free(runs);
	return oldest;
}

/* Lays out stored runs: earlier jobs are the periods of the base, oldest first, then this job. */
static const char *
layout_stored(const RunTable *table, const VerdictRules *rules, size_t *runs, Layout *layout)
{
	const char *jobs[VERDICT_JOBS_MAX];
	uint32_t own = runs_of(table, rules->job, false, runs, table->run_count);
	uint32_t count;

	layout->host_count = own;
	if (own < VERDICT_RUNS_MIN)
		return "fewer than 3 runs";
	count = earlier_jobs(table, rules, own, runs, jobs);
	layout->period_count = count + 1;
	if (count < VERDICT_JOBS_MIN)
		return "fewer than 5 jobs of the baseline, of as many runs and on this kind of machine, are "
			   "stored";
	for (uint32_t period = 0; period <= count; period++)
	{
		runs_of(table, period == count ? rules->job : jobs[count - 1 - period], false, runs, own);
		for (uint32_t host = 0; host < own; host++)
			layout->runs[host * layout->period_count + period] = runs[host];
	}
	return NULL;
}

/* --- the statistic --- */

static void
judged_free(Judged *judged)
{
	free(judged->changes);
	free(judged->wholes);
	free(judged->sums);
	free(judged->reference_changes);
	free(judged->scratch);
}

/* Allocates cells for some functions. Returns 0 or -ENOMEM; judged_free() in both cases. */
static int
judged_init(Judged *judged, const Layout *layout, uint32_t functions, double quantum)
{
	size_t cells = (size_t) layout->host_count * layout->period_count;

	*judged = (Judged){ .changes = calloc(functions, sizeof(PfsChange)),
						.wholes = calloc(cells, sizeof(double)),
						.sums = calloc(cells * functions, sizeof(double)),
						.reference_changes = calloc(layout->period_count, sizeof(double)) };
	judged->cells = (PfsCells){ .function_count = functions,
								.host_count = layout->host_count,
								.period_count = layout->period_count,
								.sums = judged->sums,
								.wholes = judged->wholes,
								.quantum = quantum,
								.design = PFS_DESIGN_PAIRED };
	judged->scratch = calloc(1, pfs_changes_scratch_bytes(&judged->cells));
	return judged->changes == NULL || judged->wholes == NULL || judged->sums == NULL ||
				   judged->reference_changes == NULL || judged->scratch == NULL
			   ? -ENOMEM
			   : 0;
}

static void
judged_run(Judged *judged, double least, bool has_reference)
{
	PfsReference reference = { .changes = judged->reference_changes, .is_known = has_reference };
	PfsChangeBasis basis;

	pfs_changes_judge(&judged->cells, least, &reference, judged->changes, &basis, judged->scratch);
}

static void
change_interval(const PfsChange *change, double *low, double *high)
{
	double reach = pfs_student_bound(0.025, change->freedom) * change->error;

	*low = expm1(change->change - reach);
	*high = expm1(change->change + reach);
}

/*
 * Judges the CPU time of a run. Each run does the same work, so the whole is 1, and no reference is
 * taken off: a loss of all code counts.
 */
static int
verdict_judge_whole(const RunTable *table, const Layout *layout, const VerdictRules *rules,
					Verdict *verdict)
{
	size_t cells = (size_t) layout->host_count * layout->period_count;
	Judged judged;
	const PfsChange *change;
	double tail;

	if (judged_init(&judged, layout, 1, 1) != 0)
	{
		judged_free(&judged);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cells; i++)
	{
		judged.wholes[i] = 1;
		judged.sums[i] = table->runs[layout->runs[i]].cpu_ns;
	}
	judged_run(&judged, 0, true);
	change = &judged.changes[0];
	/* CPU times that are counted in ticks of the clock may be equal in all runs */
	if (isnan(change->change))
	{
		verdict->method = VERDICT_NONE;
		verdict->reason = "the runs have no CPU time";
	}
	else
	{
		double limit = rules->has_looks ? LOOK_TAIL : FAIL_TAIL;

		tail = change->error > 0 ? pfs_student_tail(change->change / change->error, change->freedom)
								 : (change->change > 0	 ? 0
									: change->change < 0 ? 1
														 : 0.5);
		verdict->change = expm1(change->change);
		change_interval(change, &verdict->low, &verdict->high);
		verdict->p_value = tail;
		verdict->has_failed = verdict->change > rules->increase && tail < limit;
		verdict->is_open = verdict->change > rules->increase && tail >= limit;
		verdict->is_cheaper = verdict->change < -rules->increase && 1 - tail < limit;
		verdict->detectable = pfs_detectable_change(change, 0, rules->increase, 2 * limit, 1, 1);
	}
	judged_free(&judged);
	return 0;
}

/* --- functions --- */

static double
function_in_run(const RunTable *table, uint32_t function, size_t run)
{
	return table->selves[function * table->run_count + run];
}

/* Lists functions with enough samples in the runs. Returns their number. */
static uint32_t
tested_functions(const RunTable *table, const Layout *layout, double quantum, uint32_t *functions)
{
	size_t cells = (size_t) layout->host_count * layout->period_count;
	uint32_t count = 0;

	for (uint32_t function = 0; function < table->functions.count; function++)
	{
		double sum = 0;

		for (size_t i = 0; i < cells; i++)
			sum += function_in_run(table, function, layout->runs[i]);
		if (sum >= LEAST_SAMPLES * quantum)
			functions[count++] = function;
	}
	return count;
}

static int
compare_function_costs(const void *a, const void *b)
{
	const VerdictFunction *left = a;
	const VerdictFunction *right = b;
	double left_cost = fabs(left->base_share * left->change);
	double right_cost = fabs(right->base_share * right->change);

	return (left_cost < right_cost) - (left_cost > right_cost);
}

/*
 * Fills the verdict's functions, with rates of false discoveries instead of p values, in descending
 * order of cost.
 */
static int
verdict_take_functions(const RunTable *table, const Judged *judged, const uint32_t *functions,
					   const VerdictRules *rules, Verdict *verdict)
{
	uint32_t count = judged->cells.function_count;
	double *p = calloc(count, sizeof(double));
	double *q = calloc(count, sizeof(double));
	uint32_t *order = calloc(count, sizeof(uint32_t));
	int error = 0;

	verdict->functions = calloc(count, sizeof(VerdictFunction));
	if (p == NULL || q == NULL || order == NULL || verdict->functions == NULL)
		error = -ENOMEM;
	for (uint32_t i = 0; i < count && error == 0; i++)
		p[i] = judged->changes[i].p_value;
	if (error == 0)
		pfs_false_discovery_rates(p, count, q, order);
	for (uint32_t i = 0; i < count && error == 0; i++)
	{
		const PfsChange *change = &judged->changes[i];
		VerdictFunction *function = &verdict->functions[verdict->function_count];

		if (isnan(change->change))
			continue;
		*function = (VerdictFunction){
			.name = *(const char *const *) table_item(&table->functions, functions[i]),
			.base_share = change->base_share,
			.change = expm1(change->change),
			.q_value = q[i],
		};
		change_interval(change, &function->low, &function->high);
		function->is_found = q[i] <= MAX_RATE && fabs(function->change) >= rules->increase;
		verdict->found_count += function->is_found;
		verdict->function_count++;
	}
	if (error == 0)
		qsort(verdict->functions, verdict->function_count, sizeof(VerdictFunction),
			  compare_function_costs);
	free(p);
	free(q);
	free(order);
	return error;
}

/* Judges the functions' shares of the samples, as regressions() does. */
static int
verdict_judge_functions(const RunTable *table, const Layout *layout, const VerdictRules *rules,
						Verdict *verdict)
{
	size_t cells = (size_t) layout->host_count * layout->period_count;
	uint32_t *functions = calloc(table->functions.count + 1, sizeof(uint32_t));
	uint32_t count =
		functions == NULL ? 0 : tested_functions(table, layout, rules->quantum, functions);
	Judged judged;
	int error;

	if (count == 0)
	{
		free(functions);
		return functions == NULL ? -ENOMEM : 0;
	}
	error = judged_init(&judged, layout, count, rules->quantum);
	for (size_t i = 0; i < cells && error == 0; i++)
	{
		judged.wholes[i] = table->runs[layout->runs[i]].sampled_ns;
		for (uint32_t f = 0; f < count; f++)
			judged.sums[f * cells + i] = function_in_run(table, functions[f], layout->runs[i]);
	}
	if (error == 0)
	{
		judged_run(&judged, log1p(rules->increase / 2), false);
		error = verdict_take_functions(table, &judged, functions, rules, verdict);
	}
	judged_free(&judged);
	free(functions);
	return error;
}

/* --- the verdict --- */

/* Sets the means of both sides, and the ratio of each pair. */
static int
verdict_describe(const RunTable *table, const Layout *layout, Verdict *verdict)
{
	uint32_t last = layout->period_count - 1;

	if (verdict->method == VERDICT_PAIRS)
		verdict->ratios = calloc(layout->host_count, sizeof(double));
	if (verdict->method == VERDICT_PAIRS && verdict->ratios == NULL)
		return -ENOMEM;
	for (uint32_t host = 0; host < layout->host_count; host++)
	{
		const size_t *runs = layout->runs + (size_t) host * layout->period_count;
		double base = 0;

		for (uint32_t period = 0; period < last; period++)
			base += table->runs[runs[period]].cpu_ns / last;
		verdict->base_cpu_ns += base / layout->host_count;
		verdict->cpu_ns += table->runs[runs[last]].cpu_ns / layout->host_count;
		if (verdict->ratios != NULL)
			verdict->ratios[host] = base > 0 ? table->runs[runs[last]].cpu_ns / base - 1 : 0;
	}
	return 0;
}

int
verdict_judge(const RunTable *table, const VerdictRules *rules, Verdict *verdict)
{
	size_t room = (table->run_count + 1) * (VERDICT_JOBS_MAX + 1);
	size_t *runs = calloc(room, sizeof(size_t));
	Layout layout = { .runs = calloc(room, sizeof(size_t)) };
	int error = runs == NULL || layout.runs == NULL ? -ENOMEM : 0;

	*verdict = (Verdict){ .detectable = NAN, .change = NAN, .low = NAN, .high = NAN };
	if (error == 0)
	{
		verdict->reason = rules->is_paired ? layout_pairs(table, rules, runs, &layout)
										   : layout_stored(table, rules, runs, &layout);
		verdict->units = layout.host_count;
		verdict->jobs = rules->is_paired ? 0 : layout.period_count - 1;
	}
	if (error == 0 && verdict->reason == NULL)
	{
		verdict->method = rules->is_paired ? VERDICT_PAIRS : VERDICT_STORED;
		error = verdict_describe(table, &layout, verdict);
		if (error == 0)
			error = verdict_judge_whole(table, &layout, rules, verdict);
		if (error == 0 && verdict->reason == NULL)
			error = verdict_judge_functions(table, &layout, rules, verdict);
	}
	free(layout.runs);
	free(runs);
	return error;
}

void
verdict_fini(Verdict *verdict)
{
	free(verdict->ratios);
	free(verdict->functions);
	verdict->ratios = NULL;
	verdict->functions = NULL;
}
