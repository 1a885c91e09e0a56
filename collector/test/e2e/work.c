/*
 * work.c
 *		A program, or with WORK_LIBRARY a library, whose time goes into one function, named by WORK.
 */
#include <stdlib.h>
#include <time.h>

#include "work.h"

#ifndef WORK_PROGRAM
static volatile unsigned sink;

/* Burns some microseconds of CPU time. */
__attribute__((noinline)) void
WORK(void)
{
	unsigned value = sink;

	for (unsigned i = 0; i < 20000; i++)
		value = value * 1664525u + 1013904223u;
	sink = value;
}

void
work_for(long ms)
{
	clock_t until = clock() + ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < until)
	{
		for (int i = 0; i < 20; i++)
			WORK();
	}
}
#endif

#ifndef WORK_LIBRARY
int
main(int argc, char **argv)
{
	work_for(argc > 1 ? atol(argv[1]) : 1000);
	return 0;
}
#endif
