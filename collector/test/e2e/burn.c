/*
 * burn.c
 *		burn SECONDS: burns this many seconds of CPU time, however long that takes.
 */
#include <stdlib.h>
#include <time.h>

#include "functions.h"

#ifdef BURN_INLINED
#include "functions.c"
#endif

int
main(int argc, char **argv)
{
	clock_t until = (clock_t) (argc > 1 ? atoi(argv[1]) : 1) * CLOCKS_PER_SEC;

	while (clock() < until)
	{
		burn_sixty();
		burn_thirty();
		burn_ten();
	}
	return 0;
}
