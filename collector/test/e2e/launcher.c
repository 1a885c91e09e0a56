/*
 * launcher.c
 *		Launches work of a GPU from three functions, by 60, 30 and 10 %, and prints the number of
 *		launches.
 *
 * With an argument it only keeps a CPU busy, until it is killed.
 */
#include <stdio.h>
#include <unistd.h>

int cuLaunchKernel(void);
int cuGraphLaunch(void);
int cuCtxSynchronize(void);

static volatile unsigned long steps;
static volatile int always = 1;

__attribute__((noinline)) void
layer(int is_graph)
{
	steps++;
	if (is_graph)
		cuGraphLaunch();
	else
		cuLaunchKernel();
	cuCtxSynchronize();
	steps++;
}

__attribute__((noinline)) void
launch_sixty(void)
{
	for (int i = 0; i < 6; i++)
		layer(0);
	steps++;
}

__attribute__((noinline)) void
launch_thirty(void)
{
	for (int i = 0; i < 3; i++)
		layer(0);
	steps++;
}

__attribute__((noinline)) void
launch_ten(void)
{
	layer(1);
	steps++;
}

int
main(int argc, char **argv)
{
	(void) argv;
	while (argc > 1 && always)
		steps++;
	for (int i = 0; i < 10000; i++)
	{
		launch_sixty();
		launch_thirty();
		launch_ten();
	}
	puts("100000");
	return 0;
}
