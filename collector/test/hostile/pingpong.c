/*
 * pingpong.c
 *		Two processes on one CPU that wake each other, as fast as they can.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Binds this process to the last of the CPUs that it may use. */
static int
stay_on_one_cpu(void)
{
	cpu_set_t all;
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return -1;
	CPU_ZERO(&one);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &all))
		{
			CPU_SET(cpu, &one);
			break;
		}
	return sched_setaffinity(0, sizeof(one), &one);
}

int
main(void)
{
	int there[2];
	int back[2];
	char ball = 0;
	pid_t pid;

	if (stay_on_one_cpu() != 0 || pipe(there) != 0 || pipe(back) != 0 || (pid = fork()) < 0)
	{
		perror("pingpong");
		return 1;
	}
	if (pid == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(there[0], &ball, 1) == 1 && write(back[1], &ball, 1) == 1)
			;
		return 0;
	}
	while (write(there[1], &ball, 1) == 1 && read(back[0], &ball, 1) == 1)
		;
	return 1;
}
