/*
 * fleet.c
 *		fleet NUMBER: this number of processes, each of which computes for a moment, some times a
 *		second.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 200000000L
#define TURNS	 100000

static void
work(int number)
{
	const struct timespec pause = { 0, PAUSE_NS };
	char name[16];

	snprintf(name, sizeof(name), "member-%d", number % 100);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (;;)
	{
		for (volatile int turn = 0; turn < TURNS; turn++)
			;
		nanosleep(&pause, NULL);
	}
}

int
main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;

	for (int i = 0; i < count; i++)
	{
		pid_t pid = fork();

		if (pid == 0)
			work(i);
		if (pid < 0)
			return 1;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
