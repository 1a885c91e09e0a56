/*
 * test_worker_sandbox.c
 *		What the worker can still do to others that are nobody, too: nothing.
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/worker_sandbox.h"

#define NO_FILTERS 77

/* The steps of the worker's life that matter here; exit code: the one that went wrong, or 0. */
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

/* A process of the user that the worker becomes. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(leaves_others_alone) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
