/*
 * ci.c
 *		The command "ci run".
 *
 * 1. ci_plan_init(): what is run where, and under which labels it is stored.
 * 2. ci_measure(): runs, of both sides in alternating order.
 * 3. run_store(), run_table_read(): into the database, and out of it with those of earlier jobs.
 * 4. verdict_judge(), then reports.
 */
#include "ci/ci.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "ci/benchmark.h"
#include "ci/ci_report.h"
#include "ci/run_profile.h"
#include "ci/run_store.h"
#include "ci/verdict.h"
#include "database/session.h"
#include "exchange/given_labels.h"
#include "program/stop_signals.h"

#define MODULE "ci"

#define BATCH_BYTES ((size_t) 1 << 30)

typedef enum Side
{
	SIDE_BASE,
	SIDE_HEAD,
	SIDES
} Side;

static const char *const side_names[SIDES] = { "base", "head" };

typedef struct CiPlan
{
	const CiOptions *options;
	BenchmarkCommand commands[SIDES];
	char **arguments; /* arguments of the command, up to a NULL */
	char *shell[4];	  /* arguments of --baseline-command */
	bool is_paired;
	double increase;
	const char *benchmark;
	const char *ref;
	const char *version;
	char machine[160];
	char job[160];
	GivenLabels labels[SIDES];
} CiPlan;

/* The costs of the runs of this job, and sums over them. */
typedef struct CiTotals
{
	RunTable table;
	int64_t runs; /* runs, or pairs of runs */
	uint64_t lost;
	bool has_kernel;
	double head_cpu_ns;
} CiTotals;

/* --- the plan --- */

static ExitCode
ci_check_operands(const CiOptions *options, char **operands, size_t count, Failure *failure)
{
	if (count < 1 || strcmp(operands[0], "run") != 0)
	{
		failure_set(failure, EXIT_USAGE, "unrecognized command of ci");
		failure_hint(failure, "Write ci run [FLAGS] -- COMMAND [ARGUMENT...].");
	}
	else if (count < 2)
	{
		failure_set(failure, EXIT_USAGE, "no command given");
		failure_hint(failure, "Write the benchmark's command after --.");
	}
	else if (options->baseline == NULL &&
			 (options->baseline_dir != NULL || options->baseline_shell != NULL))
	{
		failure_set(failure, EXIT_USAGE, "no baseline given");
		failure_hint(failure, "Name the baseline with --baseline, such as main.");
	}
	else if (options->baseline_dir != NULL && options->baseline_shell != NULL)
	{
		failure_set(failure, EXIT_USAGE, "conflicting flags");
		failure_detail(failure, "--baseline-directory and --baseline-command exclude each other.");
	}
	else if (options->accept && (options->baseline_dir != NULL || options->baseline_shell != NULL))
	{
		failure_set(failure, EXIT_USAGE, "conflicting flags");
		failure_detail(failure, "--accept is about stored runs, not about pairs of runs.");
		failure_hint(failure, "Use --max-increase to allow a larger increase.");
	}
	else if (options->baseline != NULL && options->runs < VERDICT_RUNS_MIN)
	{
		failure_set(failure, EXIT_CONFIG, "too few runs for a comparison");
		failure_hint(failure, "Use --runs with at least %d; 10 pairs find an increase of 5 %%.",
					 VERDICT_RUNS_MIN);
	}
	else if (options->baseline_dir != NULL && access(options->baseline_dir, X_OK) != 0)
	{
		failure_set(failure, EXIT_CONFIG, "could not use the baseline's directory");
		failure_detail(failure, "\"%s\": %s.", options->baseline_dir, strerror(errno));
	}
	else
		return EXIT_OK;
	return failure->code;
}

static ExitCode
ci_read_increase(const char *text, double *increase, Failure *failure)
{
	char *end;
	double percent = strtod(text, &end);

	if (*end == '%')
		end++;
	if (end == text || *end != '\0' || !(percent >= 0 && percent <= 1000))
	{
		failure_set(failure, EXIT_CONFIG, "invalid value for a flag");
		failure_detail(failure, "--max-increase does not accept \"%s\".", text);
		failure_hint(failure, "Use a number of percent between 0 and 1000, such as 1.5.");
		return failure->code;
	}
	*increase = percent / 100;
	return EXIT_OK;
}

/* Returns the first that is set and not empty: the flag, or a variable of the environment. */
static const char *
ci_text_of(const char *flag, const char *const variables[2], const char *otherwise)
{
	if (flag != NULL)
		return flag;
	for (size_t i = 0; i < 2; i++)
	{
		const char *value = getenv(variables[i]);

		if (value != NULL && value[0] != '\0')
			return value;
	}
	return otherwise;
}

/* Names the kind of machine, because times of different kinds cannot be compared. */
static void
ci_name_machine(char *machine, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	struct utsname name;
	char line[256];
	char model[128] = "";

	while (file != NULL && model[0] == '\0' && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "model name : %127[^\n]", model) != 1)
			model[0] = '\0';
	if (file != NULL)
		fclose(file);
	if (model[0] == '\0' && uname(&name) == 0)
		snprintf(model, sizeof(model), "%s", name.machine);
	snprintf(machine, size, "%s, %ld CPUs", model, sysconf(_SC_NPROCESSORS_ONLN));
}

static ExitCode
ci_label(GivenLabels *labels, const char *name, const char *value, Failure *failure)
{
	return value[0] == '\0' || given_labels_set(labels, name, strlen(name), value, strlen(value))
			   ? EXIT_OK
			   : failure_out_of_memory(failure);
}

/* Sets the labels of a side; ours take precedence over those of --labels. */
static ExitCode
ci_label_side(CiPlan *plan, Side side, const char *node, Failure *failure)
{
	const struct
	{
		const char *name;
		const char *value;
	} labels[] = { { "benchmark", plan->benchmark },
				   { "ref", side == SIDE_BASE ? plan->options->baseline : plan->ref },
				   { "version", side == SIDE_BASE ? "" : plan->version },
				   { "ci_job", plan->job },
				   { "ci_side", side_names[side] },
				   { "machine", plan->machine },
				   { "node", node } };
	ExitCode code = given_labels_parse(&plan->labels[side], plan->options->labels, failure);

	for (size_t i = 0; code == EXIT_OK && i < sizeof(labels) / sizeof(labels[0]); i++)
		code = ci_label(&plan->labels[side], labels[i].name, labels[i].value, failure);
	if (code == EXIT_OK && plan->labels[side].count > BATCH_MAX_LABELS)
	{
		code = failure_set(failure, EXIT_CONFIG, "too many labels");
		failure_detail(failure, "A run would have %zu labels; the most is %d.",
					   plan->labels[side].count, BATCH_MAX_LABELS);
		failure_hint(failure, "Name fewer labels with --labels.");
	}
	return code;
}

/* Sets the commands of both sides. operands end with count, not with a NULL. */
static ExitCode
ci_plan_commands(CiPlan *plan, char **operands, size_t count, Failure *failure)
{
	static char shell[] = "/bin/sh";
	static char shell_flag[] = "-c";
	const CiOptions *options = plan->options;

	plan->arguments = calloc(count + 1, sizeof(char *));
	if (plan->arguments == NULL)
		return failure_out_of_memory(failure);
	memcpy(plan->arguments, operands, count * sizeof(char *));
	for (int side = 0; side < SIDES; side++)
		plan->commands[side] = (BenchmarkCommand){
			.arguments = plan->arguments,
			.side = side_names[side],
			.timeout_ms = options->timeout_ms,
			.frequency = options->no_profile ? 0 : options->frequency,
		};
	plan->commands[SIDE_BASE].directory = options->baseline_dir;
	if (options->baseline_shell == NULL)
		return EXIT_OK;
	plan->shell[0] = shell;
	plan->shell[1] = shell_flag;
	plan->shell[2] = (char *) (uintptr_t) options->baseline_shell;
	plan->commands[SIDE_BASE].arguments = plan->shell;
	return EXIT_OK;
}

static ExitCode
ci_plan_init(CiPlan *plan, const CiOptions *options, char **operands, size_t count,
			 Failure *failure)
{
	static const char *const refs[2] = { "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME" };
	static const char *const versions[2] = { "GITHUB_SHA", "CI_COMMIT_SHA" };
	ExitCode code = ci_check_operands(options, operands, count, failure);
	char node[65] = "";
	const char *slash;

	*plan = (CiPlan){ .options = options };
	if (code == EXIT_OK)
		code = ci_read_increase(options->max_increase, &plan->increase, failure);
	if (code != EXIT_OK)
		return code;
	plan->is_paired = options->baseline_dir != NULL || options->baseline_shell != NULL;
	slash = strrchr(operands[1], '/');
	plan->benchmark = options->benchmark != NULL ? options->benchmark
					  : slash != NULL			 ? slash + 1
												 : operands[1];
	plan->ref = ci_text_of(options->ref, refs, "head");
	plan->version = ci_text_of(options->version, versions, "");
	gethostname(node, sizeof(node) - 1);
	ci_name_machine(plan->machine, sizeof(plan->machine));
	snprintf(plan->job, sizeof(plan->job), "%" PRId64 "-%d-%s",
			 clock_ns(CLOCK_REALTIME) / NS_PER_US, (int) getpid(), node);
	code = ci_plan_commands(plan, operands + 1, count - 1, failure);
	for (int side = 0; side < SIDES && code == EXIT_OK; side++)
	{
		if (side == SIDE_HEAD || plan->is_paired)
			code = ci_label_side(plan, side, node, failure);
	}
	return code;
}

static VerdictRules
ci_rules(const CiPlan *plan)
{
	return (VerdictRules){ .job = plan->job,
						   .increase = plan->increase,
						   .quantum = (double) (NS_PER_S / plan->options->frequency),
						   .is_paired = plan->is_paired,
						   .has_looks =
							   plan->is_paired && plan->options->max_runs > plan->options->runs };
}

/* --- runs --- */

/* Adds a run to the totals. */
static int
ci_count_run(const CiPlan *plan, Side side, const BenchmarkRun *run, CiTotals *totals)
{
	if (run->events != NULL)
	{
		totals->lost += run_events_lost(run->events);
		totals->has_kernel = run_events_has_kernel(run->events);
	}
	if (side == SIDE_HEAD)
		totals->head_cpu_ns += (double) run->cpu_ns;
	return run_table_add(&totals->table, &(StoredRun){ .time_us = run->time_us,
													   .job = plan->job,
													   .is_base = side == SIDE_BASE,
													   .cpu_ns = (double) run->cpu_ns });
}

/* Runs the command of a side once. Adds the run to the batch, unless that is NULL. */
static ExitCode
ci_run_once(const CiPlan *plan, Side side, RunProfiler *profiler, Batch *batch, CiTotals *totals,
			Failure *failure)
{
	BenchmarkCommand command = plan->commands[side];
	BenchmarkRun run;
	int error = 0;
	ExitCode code;

	if (batch == NULL)
		command.frequency = 0;
	code = benchmark_run(&command, &run, failure);
	if (code != EXIT_OK)
		return code;
	log_event(LOG_INFO, MODULE, batch == NULL ? "benchmark has warmed up" : "benchmark has run",
			  log_text("side", command.side), log_real("cpu_ms", (double) run.cpu_ns / 1e6),
			  log_real("wall_ms", (double) run.wall_ns / 1e6));
	if (batch != NULL)
		error = run_profile_add(profiler, &run, plan->labels[side].labels, plan->labels[side].count,
								batch);
	if (batch != NULL && error == 0)
		error = ci_count_run(plan, side, &run, totals);
	run_events_close(run.events);
	if (error == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_INTERNAL, "could not collect the samples of a run");
	failure_detail(failure, "%s.", strerror(-error));
	return failure->code;
}

/*
 * Runs one pair: odd ones with the head first, so that a machine that gets slower or faster favours
 * no side. Without a side of the base, runs the command once.
 */
static ExitCode
ci_run_pair(const CiPlan *plan, int64_t pair, RunProfiler *profiler, Batch *batch, CiTotals *totals,
			Failure *failure)
{
	Side first = pair % 2 == 0 && plan->is_paired ? SIDE_BASE : SIDE_HEAD;
	ExitCode code = ci_run_once(plan, first, profiler, batch, totals, failure);

	return code == EXIT_OK && plan->is_paired
			   ? ci_run_once(plan, SIDES - 1 - first, profiler, batch, totals, failure)
			   : code;
}

/*
 * Raises the number of runs if it is not clear from them whether the increase is chance: to the
 * middle between --runs and --max-runs, then to --max-runs.
 */
static int
ci_look(const CiPlan *plan, CiTotals *totals)
{
	const VerdictRules rules = ci_rules(plan);
	int64_t most = plan->options->max_runs;
	int64_t middle = (plan->options->runs + most) / 2;
	Verdict verdict;
	int error;

	if (!rules.has_looks || totals->runs == most)
		return 0;
	error = verdict_judge(&totals->table, &rules, &verdict);
	if (error == 0 && verdict.is_open)
	{
		totals->runs = totals->runs < middle ? middle : most;
		log_event(LOG_INFO, MODULE, "increase may be chance; running more pairs",
				  log_real("increase_percent", 100 * verdict.change),
				  log_number("pairs", totals->runs));
	}
	verdict_fini(&verdict);
	return error;
}

static ExitCode
ci_measure(const CiPlan *plan, RunProfiler *profiler, Batch *batch, CiTotals *totals,
		   Failure *failure)
{
	ExitCode code = EXIT_OK;

	totals->runs = plan->options->runs;
	for (int64_t pair = -plan->options->warm_up; pair < totals->runs && code == EXIT_OK; pair++)
	{
		code = ci_run_pair(plan, pair, profiler, pair < 0 ? NULL : batch, totals, failure);
		if (code == EXIT_OK && pair + 1 == totals->runs && ci_look(plan, totals) != 0)
			code = failure_out_of_memory(failure);
	}
	/* a signal that came after the end of the last run */
	if (code == EXIT_OK && stop_asked())
		code = failure_set(failure, EXIT_IO, "stopped by a signal");
	return code;
}

/* Runs the benchmark and stores the runs. */
static ExitCode
ci_measure_and_store(const CiPlan *plan, CiTotals *totals, Failure *failure)
{
	RunProfiler profiler;
	Batch *batch = NULL;
	ExitCode code = run_profiler_init(&profiler, failure);

	if (code != EXIT_OK)
		return code;
	if (batch_create(BATCH_BYTES, &batch) != 0)
		code = failure_out_of_memory(failure);
	if (code == EXIT_OK)
		code = ci_measure(plan, &profiler, batch, totals, failure);
	run_profiler_fini(&profiler);
	if (code == EXIT_OK)
		return run_store(plan->options->database, batch, failure);
	batch_free(batch);
	return code;
}

/* --- the comparison --- */

/* Appends matchers of this job's runs, of one side or of both. */
static void
ci_put_own(const CiPlan *plan, const char *side, Buffer *matchers)
{
	run_matcher_put(matchers, "ci_job", "=", plan->job);
	if (side != NULL)
		run_matcher_put(matchers, "ci_side", "=", side);
	buffer_put_bytes(matchers, "", 1);
}

/* Appends matchers of the baseline's stored runs on this kind of machine. */
static void
ci_put_stored(const CiPlan *plan, Buffer *matchers)
{
	run_matcher_put(matchers, "benchmark", "=", plan->benchmark);
	run_matcher_put(matchers, "ref", "=", plan->options->baseline);
	run_matcher_put(matchers, "machine", "=", plan->machine);
	run_matcher_put(matchers, "ci_side", "=", side_names[SIDE_HEAD]);
	/* the runs of this job are of the same line, if it judges the baseline itself */
	run_matcher_put(matchers, "ci_job", "!=", plan->job);
	buffer_put_bytes(matchers, "", 1);
}

/* Reads the runs that are compared, and their functions. */
static ExitCode
ci_read_runs(const CiPlan *plan, Connection *connection, const VerdictRules *rules,
			 const RunPick *pick, RunTable *table, Failure *failure)
{
	ExitCode code = run_table_read(table, connection, pick, plan->options->history, failure);

	if (code != EXIT_OK)
		return code;
	if (!plan->is_paired)
		run_table_forget(table, verdict_oldest(table, rules));
	return run_table_read_functions(table, connection, pick, failure);
}

static ExitCode
ci_judge(const CiPlan *plan, Connection *connection, RunTable *table, Verdict *verdict,
		 Failure *failure)
{
	const VerdictRules rules = ci_rules(plan);
	Buffer own = { NULL };
	Buffer stored = { NULL };
	ExitCode code;

	ci_put_own(plan, NULL, &own);
	if (!plan->is_paired)
		ci_put_stored(plan, &stored);
	if (own.failed || stored.failed)
		code = failure_out_of_memory(failure);
	else
		code =
			ci_read_runs(plan, connection, &rules,
						 &(RunPick){ .own = own.bytes, .earlier = stored.bytes }, table, failure);
	if (code == EXIT_OK && verdict_judge(table, &rules, verdict) != 0)
		code = failure_out_of_memory(failure);
	buffer_fini(&own);
	buffer_fini(&stored);
	return code;
}

static void
ci_put_time(int64_t time_us, Buffer *text)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRId64, time_us);

	buffer_put_bytes(text, digits, (size_t) length);
}

/* Reads a page with the flame graph of both sides of this job. */
static ExitCode
ci_read_flame_page(const CiPlan *plan, const CiTotals *totals, Connection *connection,
				   Result **page, Failure *failure)
{
	static const char sql[] =
		"SELECT profstore.flamegraph_diff_html('" CI_CPU_TYPE "{' || $1 || '}', r.start, r.stop, "
		"r.start, r.stop, '" CI_CPU_TYPE "{' || $2 || '}') "
		"FROM (SELECT timestamptz 'epoch' + $3::int8 * interval '1 microsecond', "
		"timestamptz 'epoch' + ($4::int8 + 1) * interval '1 microsecond') AS r (start, stop)";
	Buffer head = { NULL };
	Buffer base = { NULL };
	Statement statement = { .sql = sql,
							.failure = "could not draw the flame graph",
							.param_count = 4 };
	const StoredRun *runs = totals->table.runs;
	Buffer start = { NULL };
	Buffer stop = { NULL };
	DbError error;
	DbOutcome outcome;

	ci_put_own(plan, side_names[SIDE_HEAD], &head);
	ci_put_own(plan, side_names[SIDE_BASE], &base);
	ci_put_time(runs[0].time_us, &start);
	ci_put_time(runs[totals->table.run_count - 1].time_us, &stop);
	if (head.failed || base.failed || start.failed || stop.failed)
		return failure_out_of_memory(failure);
	head.length--; /* without the NUL */
	base.length--;
	statement.params[0] = (StatementParam){ WIRE_TEXT, &head };
	statement.params[1] = (StatementParam){ WIRE_TEXT, &base };
	statement.params[2] = (StatementParam){ WIRE_TEXT, &start };
	statement.params[3] = (StatementParam){ WIRE_TEXT, &stop };
	outcome = connection_run(connection, &statement, 1, page, &error);
	buffer_fini(&head);
	buffer_fini(&base);
	buffer_fini(&start);
	buffer_fini(&stop);
	if (outcome == DB_OK)
		return EXIT_OK;
	*failure = error.failure;
	return failure->code;
}

/* --- reports --- */

/* Writes text to a file, or at its end. */
static ExitCode
ci_write(const char *path, const char *mode, const Buffer *text, Failure *failure)
{
	FILE *file = fopen(path, mode);
	int error = file == NULL ? errno : 0;

	if (file != NULL)
	{
		if (fwrite(text->bytes, 1, text->length, file) != text->length)
			error = errno;
		if (fclose(file) != 0 && error == 0)
			error = errno;
	}
	if (error == 0)
		return EXIT_OK;
	return failure_of_file(failure, "could not write file", path, strerror(error));
}

static ExitCode
ci_print(const Buffer *text, Failure *failure)
{
	if (fwrite(text->bytes, 1, text->length, stdout) == text->length && fflush(stdout) == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "could not write file");
	failure_detail(failure, "standard output: %s.", strerror(errno));
	return failure->code;
}

static ExitCode
ci_report(const CiPlan *plan, const ReportFacts *facts, const Verdict *verdict, Failure *failure)
{
	const CiOptions *options = plan->options;
	Buffer markdown = { NULL };
	Buffer html = { NULL };
	ExitCode code = EXIT_OK;

	report_markdown(&markdown, facts, verdict);
	if (options->html != NULL)
		report_html(&html, facts, verdict);
	if (markdown.failed || html.failed)
		code = failure_out_of_memory(failure);
	else
		code = ci_print(&markdown, failure);
	if (code == EXIT_OK && options->summary != NULL)
		code = ci_write(options->summary, "ae", &markdown, failure);
	if (code == EXIT_OK && options->html != NULL)
		code = ci_write(options->html, "we", &html, failure);
	buffer_fini(&markdown);
	buffer_fini(&html);
	return code;
}

/* Stores a mark of this job, which later jobs find when they look for their baseline. */
static ExitCode
ci_mark(const CiPlan *plan, const char *type, const CiTotals *totals, Failure *failure)
{
	const GivenLabels *labels = &plan->labels[SIDE_HEAD];
	Batch *batch = NULL;

	if (batch_create(BATCH_BYTES, &batch) == 0 &&
		run_profile_mark(type, totals->table.runs[0].time_us, labels->labels, labels->count,
						 batch) == 0)
		return run_store(plan->options->database, batch, failure);
	batch_free(batch);
	return failure_out_of_memory(failure);
}

/* Reads the runs back, judges them and reports. Returns EXIT_GATE if the gate fails. */
static ExitCode
ci_compare(const CiPlan *plan, const CiTotals *totals, Failure *failure)
{
	const CiOptions *options = plan->options;
	ReportFacts facts = { .benchmark = plan->benchmark,
						  .baseline = options->baseline,
						  .ref = plan->ref,
						  .version = plan->version,
						  .machine = plan->machine,
						  .job = plan->job,
						  .increase = plan->increase,
						  .lost = totals->lost,
						  .has_kernel = totals->has_kernel,
						  .is_sampled = !options->no_profile,
						  .is_accepted = options->accept,
						  .runs = (size_t) totals->runs,
						  .cpu_ns = totals->head_cpu_ns / (double) totals->runs };
	Connection connection = { .wake_fd = -1 };
	Verdict verdict = { .detectable = NAN };
	RunTable table;
	Result *page = NULL;
	DbError error;
	ExitCode code = EXIT_OK;

	if (connection_open(&connection, options->database, &error) != DB_OK)
	{
		*failure = error.failure;
		return failure->code;
	}
	connection_log_notices(&connection, MODULE);
	run_table_init(&table);
	if (options->baseline != NULL)
		code = ci_judge(plan, &connection, &table, &verdict, failure);
	if (code == EXIT_OK && options->html != NULL && plan->is_paired && !options->no_profile)
		code = ci_read_flame_page(plan, totals, &connection, &page, failure);
	if (page != NULL)
		facts.flame_page = result_bytes(page, 0, NULL);
	if (code == EXIT_OK)
		code = ci_report(plan, &facts, &verdict, failure);
	if (code == EXIT_OK && options->accept)
		code = ci_mark(plan, CI_RUN_ACCEPTED_TYPE, totals, failure);
	else if (code == EXIT_OK && verdict.has_failed)
	{
		Failure unmarked;

		if (!plan->is_paired && ci_mark(plan, CI_RUN_FAILED_TYPE, totals, &unmarked) != EXIT_OK)
			failure_log(&unmarked, MODULE);
		code = failure_set(failure, EXIT_GATE, "benchmark costs more than its baseline");
		failure_detail(failure, "The CPU time of a run grew by %.1f %%; the bound is %g %%.",
					   100 * verdict.change, 100 * plan->increase);
	}
	result_free(page);
	verdict_fini(&verdict);
	run_table_fini(&table);
	connection_close(&connection);
	return code;
}

ExitCode
ci_run(const CiOptions *options, char **operands, size_t count)
{
	CiPlan plan;
	CiTotals totals = { 0 };
	Failure failure;
	ExitCode code = ci_plan_init(&plan, options, operands, count, &failure);

	run_table_init(&totals.table);
	stop_signals_catch(false);
	if (code == EXIT_OK)
		code = session_check(options->database, &failure);
	if (code == EXIT_OK)
		code = run_history_check(options->database, options->history, &failure);
	if (code == EXIT_OK)
		code = ci_measure_and_store(&plan, &totals, &failure);
	if (code == EXIT_OK)
		code = ci_compare(&plan, &totals, &failure);
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	run_table_fini(&totals.table);
	for (int side = 0; side < SIDES; side++)
		given_labels_free(&plan.labels[side]);
	free(plan.arguments);
	return code;
}
