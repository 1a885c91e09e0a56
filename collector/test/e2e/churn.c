/*
 * churn.c
 *		Makes processes, libraries and threads come and go.
 *
 *		churn processes COUNT MS AT_ONCE PROGRAM...		each PROGRAM in turn, for MS of CPU time
 *		churn reuse COUNT MS PROGRAM...					the same, all under one pid; prints how often that worked
 *		churn libraries MS LIBRARY MS LIBRARY SECONDS	two libraries in turn, never both at once
 *		churn threads COUNT
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void
run_program(char *program, char *ms)
{
	char *arguments[] = { program, ms, NULL };

	execv(program, arguments);
	_exit(127);
}

static int
wait_for_one(void)
{
	int status;

	while (wait(&status) < 0)
	{
		if (errno != EINTR)
			return 1;
	}
	return status != 0;
}

static int
processes(int count, char *ms, int at_once, int program_count, char **programs)
{
	int running = 0;
	int failed = 0;

	for (int i = 0; i < count; i++)
	{
		pid_t pid;

		if (running == at_once)
		{
			failed |= wait_for_one();
			running--;
		}
		pid = fork();
		if (pid == 0)
			run_program(programs[i % program_count], ms);
		failed |= pid < 0;
		running += pid > 0;
	}
	while (running-- > 0)
		failed |= wait_for_one();
	return failed;
}

/* The pid is given by clone3: free again as soon as the process before was waited for, unless somebody else gets it. */
static int
reuse(int count, char *ms, int program_count, char **programs)
{
	pid_t chosen = fork();
	int reused = 0;

	if (chosen == 0)
		_exit(0);
	(void) wait_for_one();
	for (int i = 0; i < count; i++)
	{
		struct clone_args arguments = {
			.exit_signal = SIGCHLD,
			.set_tid = (uint64_t) (uintptr_t) &chosen,
			.set_tid_size = 1,
		};
		long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

		if (pid == 0)
			run_program(programs[i % program_count], ms);
		if (pid < 0)
			continue;
		reused += wait_for_one() == 0;
	}
	printf("%d\n", reused);
	return 0;
}

static int
work_in(const char *library, long ms)
{
	void (*work_for)(long ms);
	void *handle = dlopen(library, RTLD_NOW);

	if (handle == NULL)
		return 1;
	*(void **) &work_for = dlsym(handle, "work_for");
	if (work_for == NULL)
		return 1;
	work_for(ms);
	return dlclose(handle);
}

static int
libraries(char **arguments)
{
	clock_t until = clock() + atol(arguments[4]) * CLOCKS_PER_SEC;
	int failed = 0;

	while (clock() < until && !failed)
		failed =
			work_in(arguments[1], atol(arguments[0])) || work_in(arguments[3], atol(arguments[2]));
	return failed;
}

static void *
thread_run(void *argument)
{
	volatile unsigned *sum = argument;

	for (unsigned i = 0; i < 100000; i++)
		*sum += i;
	return NULL;
}

static int
threads(int count)
{
	for (int i = 0; i < count; i += 4)
	{
		pthread_t started[4];
		unsigned sums[4] = { 0 };

		for (int j = 0; j < 4; j++)
		{
			if (pthread_create(&started[j], NULL, thread_run, &sums[j]) != 0)
				return 1;
		}
		for (int j = 0; j < 4; j++)
			pthread_join(started[j], NULL);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 5 && strcmp(argv[1], "processes") == 0)
		return processes(atoi(argv[2]), argv[3], atoi(argv[4]), argc - 5, argv + 5);
	if (argc > 4 && strcmp(argv[1], "reuse") == 0)
		return reuse(atoi(argv[2]), argv[3], argc - 4, argv + 4);
	if (argc == 7 && strcmp(argv[1], "libraries") == 0)
		return libraries(argv + 2);
	if (argc == 3 && strcmp(argv[1], "threads") == 0)
		return threads(atoi(argv[2]));
	return 2;
}
