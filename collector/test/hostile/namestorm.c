/*
 * namestorm.c
 *		Children that change their name before each short sleep: each name needs a series, but no
 *		process needs many.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_A_TIME 48
#define NAMES	  30

/* Long enough to be kept by --off-cpu 10ms. */
static const struct timespec nap = { 0, 12000000 };

static void
bear_names(void)
{
	char name[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < NAMES; i++)
	{
		snprintf(name, sizeof(name), "storm%d-%d", getpid() % 100000, i);
		prctl(PR_SET_NAME, name);
		(void) nanosleep(&nap, NULL);
	}
}

int
main(void)
{
	for (int running = 0;;)
	{
		pid_t pid = fork();

		if (pid == 0)
		{
			bear_names();
			_exit(0);
		}
		running += pid > 0;
		if (running >= AT_A_TIME && wait(NULL) > 0)
			running--;
	}
}
