/*
 * benchmark.h
 *		One run of a command: what it costs, and what it samples.
 */
#ifndef COLLECTOR_BENCHMARK_H
#define COLLECTOR_BENCHMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "ci/run_events.h"

typedef struct BenchmarkCommand
{
	char *const *arguments; /* ends with NULL; the first is the program */
	const char *directory;	/* working directory of the command; NULL: ours */
	const char *side;		/* "base" or "head", for messages */
	int64_t timeout_ms;
	int64_t frequency; /* 0: no samples */
} BenchmarkCommand;

typedef struct BenchmarkRun
{
	int64_t time_us; /* time of the start, since 1970 */
	int64_t cpu_ns;	 /* user and system time of the command and the processes that it started */
	int64_t wall_ns;
	RunEvents *events; /* NULL: no samples. Owned by the caller */
} BenchmarkRun;

/*
 * Runs the command in a process group of its own, with standard input from /dev/null and without
 * PGPASSWORD in its environment. Its output is discarded, but its last lines are the detail of a
 * failure. All processes that it leaves are killed. Returns EXIT_OK; EXIT_BENCHMARK if the command
 * cannot be executed, fails, takes longer than the timeout, or leaves a process that cannot be
 * killed; EXIT_IO if a signal asks to stop; another code with *failure set.
 */
ExitCode benchmark_run(const BenchmarkCommand *command, BenchmarkRun *run, Failure *failure);

#endif
