/*
 * supervisor.c
 *		Forks the supervisor and the command, and talks with the supervisor through pipes.
 *
 * The command waits at a pipe until the perf events are open, and is executed only then, so that
 * neither its first instructions nor those of the supervisor are missed or counted.
 */
#include "ci/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/directory.h"
#include "process/proc_file.h"

/* Processes that were killed have this time to end. */
#define END_MS 5000

/* A process that is killed needs this time to end and to leave its children to the supervisor. */
#define KILL_ROUND_MS 1

/* State that the supervisor and the command inherit. */
typedef struct Supervised
{
	char *const *arguments;
	const char *directory;
	int control; /* read end: a byte starts the command, the end of the pipe kills all */
	int answers; /* write end */
	int output;
} Supervised;

/* The command, seen by the supervisor. */
typedef struct Command
{
	pid_t pid;
	int go;		 /* write end of the pipe at which the command waits */
	int refusal; /* read end of the pipe that has the errno of a failed execve() */
	int64_t start_ns;
	bool has_ended;
	bool has_children; /* the supervisor has children */
} Command;

/* --- the command's process --- */

/* Executes the command. Returns errno. */
static int
command_execute(const Supervised *supervised, int go)
{
	char byte;
	ssize_t taken;

	do
		taken = read(go, &byte, 1);
	while (taken < 0 && errno == EINTR);
	if (taken != 1)
		_exit(EXIT_INTERNAL); /* the supervisor has given up */
	if (supervised->directory != NULL && chdir(supervised->directory) != 0)
		return errno;
	execvp(supervised->arguments[0], supervised->arguments);
	return errno;
}

/* The main function of the command's process until it executes the command. */
static void
command_main(const Supervised *supervised, const int go[2], int refusal)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	int error;
	ssize_t written;

	/* without the write end here, the end of the supervisor is the end of the pipe */
	close(go[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the command does not survive a supervisor that is killed */
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	unsetenv("PGPASSWORD"); /* ours, which the code of a pull request must not read */
	dup2(null, STDIN_FILENO);
	dup2(supervised->output, STDOUT_FILENO);
	dup2(supervised->output, STDERR_FILENO);
	error = command_execute(supervised, go[0]);
	written = write(refusal, &error, sizeof(error));
	(void) written; /* the supervisor then reports an exit code without a reason */
	_exit(127);
}

/* Forks the command's process. Returns 0 or -errno. */
static int
command_fork(const Supervised *supervised, Command *command)
{
	int go[2];
	int refusal[2];

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(refusal, O_CLOEXEC) != 0)
		return -errno;
	command->pid = fork();
	if (command->pid == 0)
		command_main(supervised, go, refusal[1]);
	if (command->pid < 0)
		return -errno;
	close(go[0]);
	close(refusal[1]);
	command->go = go[1];
	command->refusal = refusal[0];
	return 0;
}

/* --- the supervisor's process --- */

/* Reaps processes that have ended. */
static void
supervisor_reap(Command *command, SupervisedEnd *end)
{
	int status;
	pid_t ended;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
	{
		if (ended != command->pid)
			continue;
		end->wall_ns = clock_ns(CLOCK_MONOTONIC) - command->start_ns;
		end->status = status;
		command->has_ended = true;
	}
	command->has_children = ended == 0 || errno != ECHILD;
}

/* Returns whether a process is a child of the supervisor. */
static bool
is_child_of(const char *name, pid_t parent)
{
	ProcStat stat;

	return name[0] >= '1' && name[0] <= '9' &&
		   proc_stat_read((uint32_t) strtoul(name, NULL, 10), &stat) == 0 &&
		   stat.parent_pid == (uint32_t) parent;
}

/* Kills the children of the supervisor, and counts them. Returns 0 or -errno. */
static int
supervisor_kill_children(uint32_t *count)
{
	pid_t own = getpid();
	const struct dirent *entry;
	DIR *proc;
	int err = directory_open(AT_FDCWD, "/proc", &proc);

	*count = 0;
	if (err != 0)
		return err;
	while ((err = directory_next(proc, &entry)) == 0 && entry != NULL)
	{
		if (is_child_of(entry->d_name, own))
		{
			kill((pid_t) strtol(entry->d_name, NULL, 10), SIGKILL);
			(*count)++;
		}
	}
	closedir(proc);
	return err;
}

/*
 * Ends all processes. When a process ends, its children become the supervisor's, so this takes as
 * many rounds as generations. Processes of other users may refuse; they are counted.
 */
static void
supervisor_end_all(Command *command, SupervisedEnd *end)
{
	int64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + END_MS * NS_PER_MS;

	for (;;)
	{
		/* once the command is reaped, its number may be that of a foreign group */
		if (!command->has_ended)
			kill(-command->pid, SIGKILL);
		end->list_error = command->has_children ? -supervisor_kill_children(&end->left) : 0;
		supervisor_reap(command, end);
		if (!command->has_children || clock_ns(CLOCK_MONOTONIC) > deadline_ns)
			break;
		poll(NULL, 0, KILL_ROUND_MS);
	}
	/* mounted with hidepid, /proc does not show the processes of others */
	if (!command->has_children)
		end->left = 0;
	else if (end->left == 0)
		end->left = 1;
}

/* Waits until the command has ended, or this program asks for its end. */
static void
supervisor_wait(const Supervised *supervised, Command *command, SupervisedEnd *end, int signals)
{
	struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
							{ .fd = supervised->control, .events = POLLIN } };
	struct signalfd_siginfo signal_info;
	char byte;

	while (!command->has_ended)
	{
		poll(fds, 2, -1);
		if ((fds[0].revents & POLLIN) != 0 &&
			read(signals, &signal_info, sizeof(signal_info)) == (ssize_t) sizeof(signal_info))
			supervisor_reap(command, end);
		if (fds[1].revents == 0)
			continue;
		if (read(supervised->control, &byte, 1) != 1)
			return;
		command->start_ns = clock_ns(CLOCK_MONOTONIC);
		if (write(command->go, &byte, 1) != 1)
			return;
	}
}

static int64_t
children_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return 0;
	return (int64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_S +
		   (int64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

/* Answers with bytes. A parent that has been killed does not read them. */
static void
supervisor_answer(const Supervised *supervised, const void *bytes, size_t size)
{
	ssize_t written = write(supervised->answers, bytes, size);

	(void) written;
}

/* The main function of the supervisor. Does not return. */
static void
supervisor_main(const Supervised *supervised)
{
	Command command = { .has_children = true };
	SupervisedEnd end = { 0 };
	sigset_t all;
	sigset_t children;
	int signals;
	pid_t pid;

	/* signals of a terminal are those of this program's group, and only SIGKILL ends us */
	setpgid(0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	/* if our parent has left SIGCHLD ignored, the kernel reaps children and does not signal */
	signal(SIGCHLD, SIG_DFL);
	signals = signalfd(-1, &children, SFD_CLOEXEC);
	/* processes whose parents have ended become ours */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = command_fork(supervised, &command) == 0 && signals >= 0 ? command.pid : -errno;
	supervisor_answer(supervised, &pid, sizeof(pid));
	if (pid > 0)
	{
		supervisor_wait(supervised, &command, &end, signals);
		supervisor_end_all(&command, &end);
		end.cpu_ns = children_cpu_ns();
		if (read(command.refusal, &end.exec_error, sizeof(end.exec_error)) !=
			(ssize_t) sizeof(end.exec_error))
			end.exec_error = 0;
		supervisor_answer(supervised, &end, sizeof(end));
	}
	_exit(0);
}

/* --- this program --- */

static ExitCode
supervisor_failed(const char *message, int error, Failure *failure)
{
	failure_set(failure, EXIT_INTERNAL, message);
	failure_detail(failure, "%s.", strerror(error));
	return failure->code;
}

/* Reads an answer. Returns false if the supervisor has ended without one. */
static bool
supervisor_read(const Supervisor *supervisor, void *bytes, size_t size)
{
	ssize_t taken;

	do
		taken = read(supervisor->answers, bytes, size);
	while (taken < 0 && errno == EINTR);
	return taken == (ssize_t) size;
}

ExitCode
supervisor_start(Supervisor *supervisor, char *const *arguments, const char *directory, int output,
				 Failure *failure)
{
	Supervised supervised = { .arguments = arguments, .directory = directory, .output = output };
	int control[2];
	int answers[2];

	*supervisor = (Supervisor){ .control = -1, .answers = -1 };
	if (pipe2(control, O_CLOEXEC) != 0)
		return supervisor_failed("could not create a pipe", errno, failure);
	supervisor->control = control[1];
	if (pipe2(answers, O_CLOEXEC) != 0)
	{
		close(control[0]);
		return supervisor_failed("could not create a pipe", errno, failure);
	}
	supervisor->answers = answers[0];
	supervised.control = control[0];
	supervised.answers = answers[1];
	supervisor->pid = fork();
	if (supervisor->pid == 0)
	{
		close(control[1]);
		close(answers[0]);
		supervisor_main(&supervised);
	}
	close(control[0]);
	close(answers[1]);
	if (supervisor->pid < 0)
		return supervisor_failed("could not start a process", errno, failure);
	if (!supervisor_read(supervisor, &supervisor->command, sizeof(pid_t)))
		return supervisor_failed("could not start a process", ECHILD, failure);
	if (supervisor->command < 0)
		return supervisor_failed("could not start a process", -supervisor->command, failure);
	return EXIT_OK;
}

ExitCode
supervisor_go(Supervisor *supervisor, Failure *failure)
{
	return write(supervisor->control, "", 1) == 1
			   ? EXIT_OK
			   : supervisor_failed("could not write to a pipe", errno, failure);
}

void
supervisor_kill(Supervisor *supervisor)
{
	if (supervisor->control >= 0)
		close(supervisor->control);
	supervisor->control = -1;
}

ExitCode
supervisor_end(Supervisor *supervisor, SupervisedEnd *end, Failure *failure)
{
	if (supervisor_read(supervisor, end, sizeof(*end)))
		return EXIT_OK;
	failure_set(failure, EXIT_INTERNAL, "could not wait for a process");
	failure_detail(failure, "The process that supervises the benchmark was killed.");
	return failure->code;
}

void
supervisor_close(Supervisor *supervisor)
{
	supervisor_kill(supervisor);
	if (supervisor->pid > 0)
		waitpid(supervisor->pid, NULL, 0);
	if (supervisor->answers >= 0)
		close(supervisor->answers);
	*supervisor = (Supervisor){ .control = -1, .answers = -1 };
}
