/*
 * failing_call.h
 *		A child process in which a system call fails, for errors that no file gives on request.
 */
#ifndef COLLECTOR_TEST_FAILING_CALL_H
#define COLLECTOR_TEST_FAILING_CALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define NO_FILTERS 77 /* exit code of a child that the kernel does not allow to filter calls */

/*
 * From here on a system call of this process and its children returns at once: with that error, or
 * with 0 for none. Exits with NO_FILTERS if the kernel does not allow that.
 */
static inline void
fail_call(long number, unsigned int error)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int) number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = 4, .filter = program };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(NO_FILTERS);
}

/*
 * Runs steps in a child whose reads of directories fail with EIO. Skips the test if the kernel does
 * not allow that; otherwise asserts that the steps return 0.
 */
static inline void
assert_with_failing_directories(int (*steps)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
	{
		fail_call(SYS_getdents64, EIO);
		_exit(steps());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTERS)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
