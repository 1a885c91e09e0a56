/*
 * child.c
 *		Start and end of a program beside ours.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY		  65534
#define REAP_TRIES	  100
#define REAP_PAUSE_NS 20000000

bool
child_path(const char *program, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *name;

	if (length <= 0)
		return false;
	path[length] = '\0';
	name = strrchr(path, '/');
	if (name == NULL || strlen(program) >= (size_t) (path + size - name - 1))
		return false;
	strcpy(name + 1, program);
	return true;
}

static int
spawn(const char *path, char *const *arguments, char *const *environment, pid_t *pid, int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawn_file_actions_init(&actions);
	if (err != 0)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (err == 0)
	{
		(void) posix_spawnattr_setsigmask(&attributes, &none);
		(void) posix_spawnattr_setsigdefault(&attributes, &all);
		(void) posix_spawnattr_setflags(&attributes,
										POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		err = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
		if (err == 0)
			err = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int
child_start(const char *path, char *const *arguments, char *const *environment, pid_t *pid,
			int *output)
{
	int ends[2];
	int result;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	(void) fcntl(ends[0], F_SETFL, O_NONBLOCK); /* ours alone: the other end has its own */
	result = spawn(path, arguments, environment, pid, ends[1]);
	close(ends[1]);
	if (result == 0)
		*output = ends[0];
	else
		close(ends[0]);
	return result;
}

bool
child_end(pid_t pid, int *status)
{
	const struct timespec pause = { 0, REAP_PAUSE_NS };

	(void) kill(pid, SIGKILL);
	for (int i = 0; i < REAP_TRIES; i++)
	{
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid || (ended < 0 && errno != EINTR))
			return true;
		(void) nanosleep(&pause, NULL);
	}
	return false;
}

int
child_change_user(void)
{
	if (geteuid() != 0)
		return 0;
	if (setresgid(NOBODY, NOBODY, NOBODY) != 0)
		return errno == EINVAL ? 0 : -errno;
	if (setgroups(0, NULL) != 0 && getgroups(0, NULL) > 0)
		return -errno;
	if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
		return errno == EINVAL ? 0 : -errno;
	return 0;
}

int
child_become_nobody(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int result = child_change_user();

	(void) prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (result == 0 &&
		(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &header, none) != 0 ||
		 prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0))
		result = -errno;
	return result;
}
