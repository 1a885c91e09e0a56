/*
 * test_interpreter_census.c
 *		Interpreters of running processes. This program looks like a CPython of unknown version,
 *		because it has CPython's section and function.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/interpreter_census.h"
#include "failing_call.h"

#define PYTHON	 "/usr/bin/python3"
#define CHILDREN 6

void _PyEval_EvalFrameDefault(void);

static uint64_t state_of_runtime[4] __attribute__((section(".PyRuntime"), used)) = { 1 };

__attribute__((used, noinline)) void
_PyEval_EvalFrameDefault(void)
{
	state_of_runtime[0]++;
}

static const InterpreterCount *
count_of(const InterpreterCensus *census, enum pfs_runtime_kind kind)
{
	for (size_t i = 0; i < census->count; i++)
	{
		if (census->counts[i].kind->kind == kind)
			return &census->counts[i];
	}
	fail_msg("there is no such interpreter");
	return NULL;
}

static void
test_unknown_version(void **state)
{
	const InterpreterCount *python;
	InterpreterCensus census;
	pid_t children[CHILDREN];

	for (int i = 0; i < CHILDREN; i++)
	{
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0)
		{
			(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void) pause();
			_exit(0);
		}
	}
	assert_int_equal(interpreter_census_take(&census), 0);
	for (int i = 0; i < CHILDREN; i++)
	{
		(void) kill(children[i], SIGKILL);
		(void) waitpid(children[i], NULL, 0);
	}
	python = count_of(&census, PFS_RUNTIME_PYTHON);
	assert_true(python->unknown >= 1 + CHILDREN);
	for (int i = 0; i < CENSUS_PIDS; i++)
		assert_int_not_equal(python->pids[i], 0);
}

static void
test_known_version(void **state)
{
	InterpreterCensus census;
	int ready[2];
	pid_t child;
	char byte;

	if (access(PYTHON, X_OK) != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
	{
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) dup2(ready[1], 1);
		execl(PYTHON, PYTHON, "-c",
			  "import sys, time; sys.stdout.write('r'); sys.stdout.flush(); time.sleep(1000)",
			  (char *) NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(interpreter_census_take(&census), 0);
	(void) kill(child, SIGKILL);
	(void) waitpid(child, NULL, 0);
	close(ready[0]);
	assert_true(count_of(&census, PFS_RUNTIME_PYTHON)->known >= 1);
}

static int
take_unreadable(void)
{
	InterpreterCensus census;

	return interpreter_census_take(&census) == -EIO ? 0 : 1;
}

/* Processes that cannot be listed are an error, because they would count as none. */
static void
test_unreadable(void **state)
{
	assert_with_failing_directories(take_unreadable);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_version),
		cmocka_unit_test(test_known_version),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
