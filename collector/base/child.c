/*
 * child.c
 *		Starts and ends other programs of this package.
 *
 * A child that inherited copies of our descriptors would close them at its execve(). A FUSE file
 * system can delay a close for any time, so the child would never start. Therefore a child shares
 * our descriptor table at first, and then unshares only its low numbers. We reserve these before
 * any file of another user is opened: all but the last are eventfds, which belong to no file
 * system; the last one is replaced by the descriptor that the child is given.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY		  65534
#define REAP_TRIES	  100
#define REAP_PAUSE_NS 20000000

/*
 * Before Linux 6.12 close_range(CLOSE_RANGE_UNSHARE) may copy descriptors up to this one even if
 * they are to be closed.
 */
#define CHILD_LOW 63

#define CHILD_STACK_BYTES 65536

/* A child up to its execve(). The child shares our memory and stores its error here. */
typedef struct Start
{
	const ChildProgram *program;
	int number; /* standard descriptor of the child to replace */
	int error;	/* errno of a failure; 0 if none */
} Start;

/* Guards the low descriptor, and the stack of the child that is being started. */
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static int low_descriptor = -1;

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

/*
 * Takes all free descriptor numbers up to CHILD_LOW, so that no other file gets one of them.
 * Returns the last one, or a higher number if none was free; -errno if no descriptor is left.
 */
static int
reserve_low(void)
{
	int last = -1;
	int fd;

	do
	{
		fd = eventfd(0, EFD_CLOEXEC);
		if (fd > CHILD_LOW && last >= 0)
			close(fd);
		else if (fd > STDERR_FILENO)
			last = fd;
	} while (fd >= 0 && fd < CHILD_LOW);
	return last >= 0 ? last : -errno;
}

int
child_reserve(void)
{
	int result = 0;

	pthread_mutex_lock(&starting);
	if (low_descriptor < 0)
	{
		result = reserve_low();
		low_descriptor = result;
	}
	pthread_mutex_unlock(&starting);
	return result < 0 ? result : 0;
}

/*
 * Runs in the child until execve(). The child uses the memory of its parent, whose calling thread
 * is suspended, and at first the parent's descriptors, too.
 */
static int
become_program(void *argument)
{
	Start *start = argument;
	const ChildProgram *program = start->program;
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&none);
	if ((close_range((unsigned int) low_descriptor + 1, ~0U, CLOSE_RANGE_UNSHARE) == 0 ||
		 unshare(CLONE_FILES) == 0) &&
		dup2(low_descriptor, start->number) >= 0)
	{
		for (int i = 1; i < NSIG; i++)
			(void) sigaction(i, &standard, NULL);
		(void) sigprocmask(SIG_SETMASK, &none, NULL);
		(void) execve(program->path, program->arguments, program->environment);
	}
	start->error = errno;
	_exit(EXIT_FAILURE);
}

/* Starts a program that inherits the low descriptor. The caller must hold the lock. */
static int
start_program(Start *start, pid_t *pid)
{
	static _Alignas(16) char stack[CHILD_STACK_BYTES];
	sigset_t all;
	sigset_t before;
	pid_t child;
	int err;

	/* Block all signals: a handler would run in the child, on our memory. */
	sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	child = clone(become_program, stack + sizeof(stack),
				  CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, start);
	err = child < 0 ? -errno : -start->error;
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child >= 0 && err != 0)
		(void) waitpid(child, NULL, 0);
	if (err == 0)
		*pid = child;
	return err;
}

int
child_start_with(const ChildProgram *program, int given, int number, pid_t *pid)
{
	Start start = { .program = program, .number = number };
	int result = child_reserve();
	int nothing;

	if (result != 0)
		return result;
	pthread_mutex_lock(&starting);
	nothing = eventfd(0, EFD_CLOEXEC);
	if (nothing < 0 || dup3(given, low_descriptor, O_CLOEXEC) < 0)
		result = -errno;
	else
	{
		result = start_program(&start, pid);
		/* Put the placeholder back, so that the number stays reserved. */
		(void) dup3(nothing, low_descriptor, O_CLOEXEC);
	}
	if (nothing >= 0)
		close(nothing);
	pthread_mutex_unlock(&starting);
	return result;
}

int
child_start(const ChildProgram *program, pid_t *pid, int *output)
{
	int ends[2];
	int result;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	/* This affects only our end, because each end of a pipe has flags of its own. */
	(void) fcntl(ends[0], F_SETFL, O_NONBLOCK);
	result = child_start_with(program, ends[1], STDOUT_FILENO, pid);
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

void
child_release_memory(pid_t pid)
{
	int fd = (int) syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
#ifdef SYS_process_mrelease
	(void) syscall(SYS_process_mrelease, fd, 0);
#endif
	close(fd);
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
