/*
 * ci.h
 *		The sub-command "ci run": profiles a benchmark several times, and fails if it costs more
 *		than its baseline.
 */
#ifndef COLLECTOR_CI_H
#define COLLECTOR_CI_H

#include "program/common_flags.h"

#define CI_FLAGS_MAX 24
#define CI_RUNS_MAX	 100

typedef struct CiOptions
{
	const char *database;		/* libpq connection string */
	const char *benchmark;		/* name; NULL: the base name of the program */
	const char *baseline;		/* name of the base's line of development; NULL: compare nothing */
	const char *baseline_dir;	/* directory in which the command runs the base; NULL */
	const char *baseline_shell; /* shell command that runs the base; NULL */
	const char *ref;			/* name of the line of development; NULL: from the environment */
	const char *version;		/* NULL: from the environment */
	const char *labels;			/* name=value,… of all series */
	int64_t runs;				/* runs, or pairs of runs */
	int64_t max_runs;			/* the most pairs, if the outcome is open */
	int64_t warm_up;			/* runs of each side that are not counted */
	int64_t frequency;			/* samples per second of CPU time */
	int64_t timeout_ms;			/* time limit of one run */
	const char *max_increase;	/* bound of the gate, in percent */
	const char *history;		/* interval in PostgreSQL's syntax: age of stored runs */
	const char *html;			/* file of the report; NULL: none */
	const char *summary;		/* file to which the summary is appended; NULL: none */
	bool accept;				/* this job is the first of a new baseline */
	bool no_profile;			/* measure only CPU time */
	LogOptions log;
} CiOptions;

/* Sets the defaults and describes the flags, which point into options. Returns their number. */
size_t ci_flags(CiOptions *options, Flag flags[CI_FLAGS_MAX]);

/*
 * Operands are "run" and the command with its arguments. Prints the summary on standard output.
 * Returns EXIT_GATE if the cost grew beyond the bound, EXIT_BENCHMARK if a run failed.
 */
ExitCode ci_run(const CiOptions *options, char **operands, size_t count);

#endif
