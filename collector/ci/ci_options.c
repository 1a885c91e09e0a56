/*
 * ci_options.c
 *		Table of flags of the command ci.
 */
#include "ci/ci.h"

#include <string.h>

#define DAY_MS (INT64_C(24) * 3600 * 1000)

size_t
ci_flags(CiOptions *options, Flag flags[CI_FLAGS_MAX])
{
	const Flag own[] = {
		{ "baseline", FLAG_TEXT, &options->baseline, "REF",
		  "branch to compare with, such as main" },
		{ "baseline-directory", FLAG_TEXT, &options->baseline_dir, "DIR",
		  "run the command in DIR, which contains the baseline, and here by turns" },
		{ "baseline-command", FLAG_TEXT, &options->baseline_shell, "COMMAND",
		  "run this shell command for the baseline, and the other command by turns" },
		{ "runs", FLAG_NUMBER, &options->runs, "NUMBER", "runs, or pairs of runs; default: 10",
		  .minimum = 1, .maximum = CI_RUNS_MAX },
		{ "max-runs", FLAG_NUMBER, &options->max_runs, "NUMBER",
		  "the most pairs, if the CPU time grew but that may be chance; default: 30", .minimum = 1,
		  .maximum = CI_RUNS_MAX },
		{ "warm-up", FLAG_NUMBER, &options->warm_up, "NUMBER",
		  "warm-up runs of each side, which are not counted; default: 1", .minimum = 0,
		  .maximum = CI_RUNS_MAX },
		{ "max-increase", FLAG_TEXT, &options->max_increase, "PERCENT",
		  "largest increase of the CPU time of a run that is accepted; default: 1" },
		{ "benchmark", FLAG_TEXT, &options->benchmark, "NAME",
		  "name under which runs are stored; default: that of the program" },
		{ "ref", FLAG_TEXT, &options->ref, "REF",
		  "branch of these runs; default: GITHUB_REF_NAME, CI_COMMIT_REF_NAME" },
		{ "version", FLAG_TEXT, &options->version, "TEXT",
		  "version of these runs; default: GITHUB_SHA, CI_COMMIT_SHA" },
		{ "labels", FLAG_TEXT, &options->labels, "LIST", "name=value,...: further labels" },
		{ "history", FLAG_TEXT, &options->history, "INTERVAL",
		  "age of stored runs to compare with; default: 30 days" },
		{ "accept", FLAG_SWITCH, &options->accept, NULL,
		  "do not fail, and begin a new baseline with these runs" },
		{ "html", FLAG_TEXT, &options->html, "FILE", "write a report as one page" },
		{ "summary", FLAG_TEXT, &options->summary, "FILE",
		  "append the summary, in Markdown, to FILE as well" },
		{ "frequency", FLAG_NUMBER, &options->frequency, "HZ",
		  "samples per second of CPU time; default: 499", .minimum = 1, .maximum = 10000 },
		{ "no-profile", FLAG_SWITCH, &options->no_profile, NULL,
		  "measure only the CPU time, which needs no perf events" },
		{ "timeout", FLAG_DURATION, &options->timeout_ms, "DURATION",
		  "time limit of one run; default: 10m", .minimum = 100, .maximum = DAY_MS },
	};
	size_t count = 0;

	memset(options, 0, sizeof(*options));
	options->labels = "";
	options->runs = 10;
	options->max_runs = 30;
	options->warm_up = 1;
	options->max_increase = "1";
	options->history = "30 days";
	options->frequency = 499;
	options->timeout_ms = INT64_C(10) * 60 * 1000;
	flags[count++] = database_flag(&options->database);
	count += log_flags(&options->log, &flags[count]);
	return flags_append(flags, count, own, sizeof(own) / sizeof(own[0]));
}
