/*
 * test_worker_sandbox.c
 *		The worker cannot affect other processes of the user nobody. Each layer of the sandbox is
 *		tested alone, without the filter of system calls, which comes before the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/landlock.h>

#include "failing_call.h"
#include "symbols/worker/worker_sandbox.h"

/*
 * Runs the steps of the worker's start that are tested. Returns an exit code: number of the step
 * that failed, or 0.
 */
static int
try_others(pid_t other, int socket)
{
	if (!worker_sandbox_enter())
		return 1;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		return NO_FILTERS;
	if (syscall(SYS_tgkill, getpid(), gettid(), 0) != 0)
		return 2; /* abort() */
	if (setpriority(PRIO_PROCESS, 0, 19) != 0 || fcntl(socket, F_GETFD) < 0)
		return 3;
	if (syscall(SYS_tgkill, other, other, SIGKILL) == 0 || errno != EPERM)
		return 4;
	if (setpriority(PRIO_PROCESS, (id_t) other, 19) == 0 || setpriority(PRIO_USER, 0, 19) == 0)
		return 5;
	if (fcntl(socket, F_SETOWN, other) == 0)
		return 6;
	return 0;
}

/* Starts a process of the user that the worker becomes. */
static pid_t
start_other(void)
{
	pid_t other;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (other == 0)
	{
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
			_exit(1);
		close(ready[0]);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return other;
}

static void
leaves_others_alone(void **state)
{
	pid_t other = start_other();
	int sockets[2];
	int status;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	child = fork();
	if (child == 0)
		_exit(try_others(other, sockets[0]));
	assert_int_equal(waitpid(child, &status, 0), child);
	(void) kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
	close(sockets[0]);
	close(sockets[1]);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTERS)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Writes the target of a link of /proc in the child; "" if it cannot be read. */
static void
read_namespace(char *text, size_t size)
{
	ssize_t length = readlink("/proc/self/ns/net", text, size - 1);

	text[length > 0 ? length : 0] = '\0';
}

static int
try_network(void)
{
	char before[64];
	char after[64];

	fail_call(SYS_seccomp, 0);
	/* otherwise Landlock would forbid to read the link */
	fail_call(SYS_landlock_create_ruleset, EOPNOTSUPP);
	read_namespace(before, sizeof(before));
	if (!worker_sandbox_enter())
		return 1;
	(void) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	read_namespace(after, sizeof(after));
	if (before[0] == '\0' || after[0] == '\0')
		return 2;
	return strcmp(before, after) == 0 ? 3 : 0;
}

static int
try_file(void)
{
	fail_call(SYS_seccomp, 0);
	if (!worker_sandbox_enter())
		return 1;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		return 2;
	return open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) >= 0 || errno != EACCES ? 3 : 0;
}

static int
try_to_stay_root(void)
{
	fail_call(SYS_setresuid, EPERM);
	return worker_sandbox_enter() ? 0 : 1;
}

/* Runs steps in a child, whose log is stored in text; returns the exit code. */
static int
run_steps(int (*steps)(void), char *text, size_t size)
{
	size_t length = 0;
	ssize_t more;
	int output[2];
	int status;
	pid_t child;

	assert_int_equal(pipe(output), 0);
	child = fork();
	if (child == 0)
	{
		if (dup2(output[1], STDERR_FILENO) < 0)
			_exit(99);
		close(output[0]);
		close(output[1]);
		_exit(steps());
	}
	close(output[1]);
	while ((more = read(output[0], text + length, size - 1 - length)) > 0)
		length += (size_t) more;
	text[length] = '\0';
	close(output[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
has_its_own_network(void **state)
{
	char text[4096];
	int code;

	if (geteuid() != 0)
		skip();
	code = run_steps(try_network, text, sizeof(text));
	if (code == NO_FILTERS)
		skip();
	assert_string_equal(text, "");
	assert_int_equal(code, 0);
}

/* Without the filter of system calls, Landlock forbids files. */
static void
names_no_file(void **state)
{
	char text[4096];
	int code;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip();
	code = run_steps(try_file, text, sizeof(text));
	if (code == NO_FILTERS)
		skip();
	assert_int_equal(code, 0);
}

static void
tells_that_it_remains_root(void **state)
{
	char text[4096];
	int code;

	if (geteuid() != 0)
		skip();
	code = run_steps(try_to_stay_root, text, sizeof(text));
	if (code == NO_FILTERS)
		skip();
	assert_int_equal(code, 0);
	assert_non_null(strstr(text, "symbol worker still runs as root, without capabilities"));
	assert_non_null(strstr(text, "Operation not permitted"));
	assert_non_null(strstr(text, "Grant the agent CAP_SETUID, CAP_SETGID and CAP_KILL."));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_others_alone),
		cmocka_unit_test(has_its_own_network),
		cmocka_unit_test(names_no_file),
		cmocka_unit_test(tells_that_it_remains_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
