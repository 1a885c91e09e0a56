/*
 * shorts.c
 *		Executes itself again and again; each execution burns 25 ms of CPU time and ends.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIFE_NS 25000000L

static volatile long turns;

__attribute__((noinline)) static void
short_work(void)
{
	struct timespec now;

	do
	{
		for (int i = 0; i < 100000; i++)
			turns++;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec == 0 && now.tv_nsec < LIFE_NS);
}

int
main(int argc, char **argv)
{
	if (argc == 2)
	{
		short_work();
		return 0;
	}
	for (;;)
	{
		if (fork() == 0)
		{
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execl(argv[0], argv[0], "once", NULL);
			perror("exec");
			_exit(1);
		}
		wait(NULL);
	}
}
