/*
 * deep.c
 *		deep SECONDS: burns CPU time below DEPTH calls of one function.
 */
#include <stdlib.h>
#include <time.h>

#include "functions.h"

static volatile int sink;

__attribute__((noinline, noclone)) static void
descend(int depth, clock_t until)
{
	if (depth > 1)
		descend(depth - 1, until);
	else
	{
		while (clock() < until)
			burn_ten();
	}
	sink++; /* so that the call is not a tail call */
}

int
main(int argc, char **argv)
{
	descend(DEPTH, (clock_t) (argc > 1 ? atoi(argv[1]) : 1) * CLOCKS_PER_SEC);
	return 0;
}
