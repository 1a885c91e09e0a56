/*
 * benchmark.c
 *		Runs a command under perf events, and bounds its time and its output.
 */
#include "ci/benchmark.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "ci/supervisor.h"
#include "process/cpu_list.h"
#include "program/parse.h"
#include "program/stop_signals.h"

/* Buffers are read this often even if none is half full. */
#define READ_MS 50

/* Bytes of the end of the output that a failure shows. */
#define TAIL_BYTES 300

#define FDS_MAX (CPU_LIST_MAX + 2)

/* --- the output --- */

/* Keeps the file of the output small: the last lines are enough. */
static void
output_cut(int output)
{
	static const off_t most = 16 << 20;

	if (lseek(output, 0, SEEK_CUR) > most && ftruncate(output, 0) == 0)
		lseek(output, 0, SEEK_SET);
}

/* Writes the last lines of the output as text on one line. */
static void
output_tail(int output, char tail[TAIL_BYTES + 1])
{
	off_t end = lseek(output, 0, SEEK_END);
	off_t from = end > TAIL_BYTES ? end - TAIL_BYTES : 0;
	ssize_t length = pread(output, tail, TAIL_BYTES, from);

	length = length < 0 ? 0 : length;
	while (length > 0 && (tail[length - 1] == '\n' || tail[length - 1] == ' '))
		length--;
	tail[length] = '\0';
	for (ssize_t i = 0; i < length; i++)
	{
		if ((unsigned char) tail[i] < ' ')
			tail[i] = ' ';
	}
}

static ExitCode
benchmark_failed(const BenchmarkCommand *command, int output, const char *how, Failure *failure)
{
	char tail[TAIL_BYTES + 1];

	output_tail(output, tail);
	failure_set(failure, EXIT_BENCHMARK, "benchmark failed");
	failure_detail(failure, "The %s command \"%.100s\" %s%s%s", command->side,
				   command->arguments[0], how, tail[0] == '\0' ? "." : ". Its last output: ", tail);
	return failure->code;
}

/* --- the run --- */

static ExitCode
benchmark_judge_end(const BenchmarkCommand *command, int output, const SupervisedEnd *end,
					Failure *failure)
{
	char how[160];

	if (end->exec_error != 0)
		snprintf(how, sizeof(how), "could not be executed: %s", strerror(end->exec_error));
	else if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0)
		return EXIT_OK;
	else if (WIFEXITED(end->status))
		snprintf(how, sizeof(how), "ended with exit code %d", WEXITSTATUS(end->status));
	else
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(end->status));
	return benchmark_failed(command, output, how, failure);
}

static ExitCode
benchmark_timed_out(const BenchmarkCommand *command, int output, Failure *failure)
{
	char limit[QUANTITY_TEXT_MAX];
	char how[100];

	format_duration_ms(command->timeout_ms, limit);
	snprintf(how, sizeof(how), "took longer than %s", limit);
	benchmark_failed(command, output, how, failure);
	failure_hint(failure, "Use --timeout to allow more time for a run.");
	return failure->code;
}

/* Reports processes that would run beside all further runs. */
static ExitCode
benchmark_left(const BenchmarkCommand *command, const SupervisedEnd *end, Failure *failure)
{
	failure_set(failure, EXIT_BENCHMARK, "could not kill the processes of the benchmark");
	if (end->list_error != 0)
	{
		failure_detail(failure,
					   "The processes that the %s command \"%.100s\" has left could not be listed: "
					   "%s.",
					   command->side, command->arguments[0], strerror(end->list_error));
		return failure->code;
	}
	failure_detail(failure,
				   "The %s command \"%.100s\" has left %u processes of another user, such as those "
				   "of sudo.",
				   command->side, command->arguments[0], end->left);
	failure_hint(failure, "Run profstore-collector itself as that user.");
	return failure->code;
}

/* Reads events until the run ends; ends it at the deadline or if a signal asks to stop. */
static ExitCode
benchmark_wait(const BenchmarkCommand *command, Supervisor *supervisor, int output,
			   RunEvents *events, Failure *failure)
{
	int64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + command->timeout_ms * NS_PER_MS;
	struct pollfd fds[FDS_MAX] = { { .fd = supervisor->answers, .events = POLLIN },
								   { .fd = stop_signals_fd(), .events = POLLIN } };
	const int *event_fds;
	size_t count = events == NULL ? 0 : run_events_fds(events, &event_fds);
	ExitCode code = EXIT_OK;

	for (size_t i = 0; i < count; i++)
		fds[2 + i] = (struct pollfd){ .fd = event_fds[i], .events = POLLIN };
	while (fds[0].revents == 0)
	{
		poll(fds, 2 + count, READ_MS);
		if (events != NULL)
			run_events_read(events);
		output_cut(output);
		if (code != EXIT_OK)
			continue;
		if (stop_asked())
			code = failure_set(failure, EXIT_IO, "stopped by a signal");
		else if (clock_ns(CLOCK_MONOTONIC) > deadline_ns)
			code = benchmark_timed_out(command, output, failure);
		if (code != EXIT_OK)
		{
			supervisor_kill(supervisor);
			fds[1].fd = -1; /* signals are no longer read, so poll() would return at once */
		}
	}
	return code;
}

/* Runs a command whose process waits, and takes its costs. */
static ExitCode
benchmark_measure(const BenchmarkCommand *command, Supervisor *supervisor, int output,
				  BenchmarkRun *run, Failure *failure)
{
	SupervisedEnd end = { 0 };
	Failure lost;
	ExitCode code;

	run->time_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
	code = supervisor_go(supervisor, failure);
	if (code != EXIT_OK)
		return code;
	code = benchmark_wait(command, supervisor, output, run->events, failure);
	if (supervisor_end(supervisor, &end, &lost) != EXIT_OK && code == EXIT_OK)
	{
		*failure = lost;
		code = lost.code;
	}
	if (end.left > 0)
		return benchmark_left(command, &end, failure);
	run->cpu_ns = end.cpu_ns;
	run->wall_ns = end.wall_ns;
	return code != EXIT_OK ? code : benchmark_judge_end(command, output, &end, failure);
}

ExitCode
benchmark_run(const BenchmarkCommand *command, BenchmarkRun *run, Failure *failure)
{
	int output = memfd_create("benchmark output", MFD_CLOEXEC);
	Supervisor supervisor;
	ExitCode code;

	*run = (BenchmarkRun){ 0 };
	if (output < 0)
	{
		failure_set(failure, EXIT_INTERNAL, "could not create a file in memory");
		failure_detail(failure, "%s.", strerror(errno));
		return failure->code;
	}
	code = supervisor_start(&supervisor, command->arguments, command->directory, output, failure);
	if (code == EXIT_OK && command->frequency > 0)
		code = run_events_open(supervisor.command, command->frequency, &run->events, failure);
	if (code == EXIT_OK)
		code = benchmark_measure(command, &supervisor, output, run, failure);
	supervisor_close(&supervisor);
	if (run->events != NULL)
		run_events_read(run->events);
	close(output);
	if (code != EXIT_OK)
	{
		run_events_close(run->events);
		run->events = NULL;
	}
	return code;
}
