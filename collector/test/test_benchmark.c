/*
 * test_benchmark.c
 *		Runs of "ci run": what belongs to a run, and what is left of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ci/benchmark.h"
#include "failing_call.h"

#define WAIT_S 20

/* Runs a shell script; %d in it is the number of an inherited descriptor. */
static ExitCode
run_script(const char *script, int to, int64_t timeout_ms, BenchmarkRun *run, Failure *failure)
{
	static char shell[] = "/bin/sh";
	static char flag[] = "-c";
	char text[1024];
	char *arguments[] = { shell, flag, text, NULL };
	const BenchmarkCommand command = { .arguments = arguments,
									   .side = "head",
									   .timeout_ms = timeout_ms };
	int inherited = dup(to); /* a copy without FD_CLOEXEC */
	ExitCode code;

	assert_true(strlen(script) < sizeof(text));
	for (char *at = strcpy(text, script); (at = strstr(at, "%d")) != NULL;)
	{
		assert_in_range(inherited, 0, 9);
		at[0] = (char) ('0' + inherited);
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	}
	code = benchmark_run(&command, run, failure);
	close(inherited);
	return code;
}

/* Returns true if the pipe whose write end the command holds reaches its end. */
static bool
reaches_end(int from)
{
	int64_t deadline = clock_ns(CLOCK_MONOTONIC) + WAIT_S * NS_PER_S;
	struct pollfd poll_fd = { .fd = from, .events = POLLIN };
	char byte;

	while (clock_ns(CLOCK_MONOTONIC) < deadline)
	{
		if (poll(&poll_fd, 1, 100) > 0 && read(from, &byte, 1) == 0)
			return true;
	}
	return false;
}

/* Kills a process that runs a script that has written a line. Nothing with the pipe may be left. */
static void
check_killed_parent(const char *script)
{
	int fds[2];
	char byte;
	pid_t parent;

	assert_int_equal(pipe(fds), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0)
	{
		BenchmarkRun run;
		Failure failure;

		close(fds[0]);
		run_script(script, fds[1], 600000, &run, &failure);
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_true(reaches_end(fds[0]));
	close(fds[0]);
}

static void
test_killed_parent(void **state)
{
	check_killed_parent("echo x >&%d; exec sleep 300");
}

/* Children of the command, in its process group, in a session of their own, and orphans. */
static void
test_killed_parent_of_many(void **state)
{
	check_killed_parent("sleep 300 & (sleep 300 &); setsid sleep 300 & "
						"setsid sh -c 'sleep 300 & setsid sleep 300 & echo x >&%d; wait' & wait");
}

/* Runs a script, after which nothing that has the pipe is left. */
static ExitCode
run_ends(const char *script, int64_t timeout_ms, BenchmarkRun *run)
{
	int fds[2];
	Failure failure;
	ExitCode code;

	assert_int_equal(pipe(fds), 0);
	code = run_script(script, fds[1], timeout_ms, run, &failure);
	close(fds[1]);
	assert_true(reaches_end(fds[0]));
	close(fds[0]);
	return code;
}

static void
test_timeout(void **state)
{
	static const char script[] = "setsid sh -c 'setsid sleep 300 & sleep 300' & sleep 300";
	int64_t start = clock_ns(CLOCK_MONOTONIC);
	BenchmarkRun run;

	assert_int_equal(run_ends(script, 300, &run), EXIT_BENCHMARK);
	assert_true(clock_ns(CLOCK_MONOTONIC) - start < WAIT_S * NS_PER_S);
}

static void
test_left(void **state)
{
	BenchmarkRun run;

	assert_int_equal(run_ends("(setsid sleep 300 &); sleep 300 &", 600000, &run), EXIT_OK);
}

/* The end of a run is seen even if this program has inherited that SIGCHLD is ignored. */
static void
test_ignored_children(void **state)
{
	BenchmarkRun run;
	ExitCode code;

	signal(SIGCHLD, SIG_IGN);
	code = run_ends("sleep 0 & exit 0", 10000, &run);
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(code, EXIT_OK);
}

/* Parts of the work of test_cpu_time(), each of which a process of its own does. */
#define CPU_PARTS 4

/* A shell command that counts, and then writes the processor time of its shell to a file. */
#define SPIN_AND_TELL \
	"spin() { i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done; times >\"$1\"; }; "

/* Returns the time that "times" has written to a file for the shell itself: "0m1.25s 0m0.25s". */
static double
told_seconds(const char *directory, int part)
{
	char path[64];
	FILE *file;
	double minutes[2];
	double seconds[2];

	snprintf(path, sizeof(path), "%s/%d", directory, part);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lfm%lfs %lfm%lfs", &minutes[0], &seconds[0], &minutes[1],
							&seconds[1]),
					 4);
	fclose(file);
	assert_int_equal(unlink(path), 0);
	return 60 * (minutes[0] + minutes[1]) + seconds[0] + seconds[1];
}

/* The time of all processes counts, however they were started and whoever waits for them. */
static void
test_cpu_time(void **state)
{
	static const char format[] = "cd %s; " SPIN_AND_TELL "spin 0 & (spin 1 &); "
								 "setsid sh -c '" SPIN_AND_TELL "spin 2' & wait; spin 3";
	char directory[] = "/tmp/profstore-test_benchmark-XXXXXX";
	char script[1024];
	BenchmarkRun run;
	double told = 0;

	assert_non_null(mkdtemp(directory));
	assert_true(snprintf(script, sizeof(script), format, directory) < (int) sizeof(script));
	assert_int_equal(run_ends(script, 600000, &run), EXIT_OK);
	for (int part = 0; part < CPU_PARTS; part++)
	{
		double seconds = told_seconds(directory, part);

		print_message("part %d: %.2f s\n", part, seconds);
		assert_true(seconds > 0.05);
		told += seconds;
	}
	print_message("together %.2f s, counted %.2f s\n", told, (double) run.cpu_ns / 1e9);
	assert_int_equal(rmdir(directory), 0);
	/* Counted are also the start of each process, and the rest of a tick of each. */
	assert_true((double) run.cpu_ns / 1e9 > told - 0.01 * CPU_PARTS);
	assert_true((double) run.cpu_ns / 1e9 < 1.1 * told + 0.05 * CPU_PARTS);
}

static int
leave_unlisted(void)
{
	BenchmarkRun run;
	Failure failure;

	if (run_script("sleep 8 &", 1, 600000, &run, &failure) != EXIT_BENCHMARK)
		return 1;
	return strstr(failure.detail, "has left could not be listed: Input/output error.") != NULL ? 0
																							   : 2;
}

/* If /proc cannot be read, the reason for processes that stay is not another user. */
static void
test_unlisted(void **state)
{
	assert_with_failing_directories(leave_unlisted);
}

static void
test_environment(void **state)
{
	BenchmarkRun run;

	setenv("PGPASSWORD", "secret", 1);
	setenv("PGUSER", "ci", 1);
	assert_int_equal(run_ends("test -z \"$PGPASSWORD\" -a \"$PGUSER\" = ci", 600000, &run),
					 EXIT_OK);
	assert_string_equal(getenv("PGPASSWORD"), "secret");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_parent),	 cmocka_unit_test(test_killed_parent_of_many),
		cmocka_unit_test(test_timeout),			 cmocka_unit_test(test_left),
		cmocka_unit_test(test_ignored_children), cmocka_unit_test(test_cpu_time),
		cmocka_unit_test(test_unlisted),		 cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
