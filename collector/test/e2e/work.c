/*
 * work.c
 *		A program, or with WORK_LIBRARY a library, whose time is spent in one function, named by
 *		WORK.
 *
 * Libraries with SPIN have another such function, which needs only its own code. WORK_PAD_BYTES on
 * the stack distinguish libraries by the frames of their functions, and by nothing else: their code
 * has equal length.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "work.h"

#ifndef WORK_PAD_BYTES
#define WORK_PAD_BYTES 256
#endif

#ifndef WORK_PROGRAM
static volatile unsigned sink;

/* Burns some microseconds of CPU time. */
__attribute__((noinline)) void
WORK(void)
{
	volatile unsigned char pad[WORK_PAD_BYTES];
	unsigned value = sink;

	pad[0] = 0;
	for (unsigned i = 0; i < 20000; i++)
		value = value * 1664525u + 1013904223u;
	sink = value + pad[0];
}

#ifdef SPIN
void
SPIN(unsigned rounds)
{
	volatile unsigned char pad[WORK_PAD_BYTES];

	for (unsigned i = 0; i < rounds; i++)
		pad[0] = (unsigned char) i;
}
#endif

void
work_for(long ms)
{
	volatile unsigned char pad[WORK_PAD_BYTES];
	clock_t until = clock() + ms * (CLOCKS_PER_SEC / 1000);

	pad[0] = 0;
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
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	work_for(argc > 1 ? atol(argv[1]) : 1000);
	return 0;
}
#endif
