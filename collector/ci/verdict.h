/*
 * verdict.h
 *		Decides whether a benchmark costs more than its baseline, by the statistic of regressions().
 *
 * With pairs of runs, a pair takes the place of a host: its base is the time before, its head the
 * time after. With stored runs only, a job takes the place of a period and the position of a run
 * within its job that of a host: each earlier job is judged as if it were the new one, and the
 * change counts only beyond what earlier jobs showed. Jobs that failed are no baseline, because
 * the change of one would count as noise. A job that was accepted begins a new baseline.
 */
#ifndef COLLECTOR_VERDICT_H
#define COLLECTOR_VERDICT_H

#include "ci/run_store.h"

/* Jobs that a comparison with stored runs needs, and the newest that it takes. */
#define VERDICT_JOBS_MIN 5
#define VERDICT_JOBS_MAX 24
#define VERDICT_RUNS_MIN 3

typedef enum VerdictMethod
{
	VERDICT_NONE,
	VERDICT_PAIRS,
	VERDICT_STORED
} VerdictMethod;

typedef struct VerdictRules
{
	const char *job; /* this job */
	double increase; /* bound, as a part: 0.01 */
	double quantum;	 /* value of one sample */
	bool is_paired;	 /* runs of the base are in this job */
	bool has_looks;	 /* pairs are judged up to three times, before more are run */
} VerdictRules;

typedef struct VerdictFunction
{
	const char *name; /* in the table of runs */
	double base_share;
	double change; /* change against the median code, as a part such as 0.05 */
	double low;
	double high;
	double q_value;
	bool is_found;
} VerdictFunction;

typedef struct Verdict
{
	VerdictMethod method;
	const char *reason; /* why nothing was judged; NULL if something was */
	uint32_t units;		/* pairs, or runs of a job */
	uint32_t jobs;		/* earlier jobs */
	double base_cpu_ns; /* means of a run */
	double cpu_ns;
	double change; /* change of the CPU time of a run, as a part of it */
	double low;	   /* low, high: interval of 95 % of the change */
	double high;
	double detectable;			/* the increase that is found 95 times of 100; NAN: not known */
	double p_value;				/* probability of the data if there is no increase */
	bool is_open;				/* there is an increase above the bound, which may be chance */
	bool has_failed;			/* the increase is above the bound and significant */
	bool is_cheaper;			/* there is a significant decrease */
	double *ratios;				/* ratios by pair, as parts; NULL for stored runs */
	VerdictFunction *functions; /* functions by change of the CPU time, largest first */
	size_t function_count;
	size_t found_count; /* number of functions that were found */
} Verdict;

/*
 * Returns the time before which no run is compared, so that functions need not be read from there:
 * that of the first run of the jobs that a comparison with stored runs takes.
 */
int64_t verdict_oldest(const RunTable *table, const VerdictRules *rules);

/* Returns 0 or -ENOMEM. verdict_fini() frees what the verdict holds. */
int verdict_judge(const RunTable *table, const VerdictRules *rules, Verdict *verdict);
void verdict_fini(Verdict *verdict);

#endif
