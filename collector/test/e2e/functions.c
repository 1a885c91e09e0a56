/*
 * functions.c
 *		Three functions that burn 60, 30 and 10 parts of the CPU time: equal loops, run that often.
 */
#include "functions.h"

#define ROUNDS 200000 /* a turn of all three takes some 30 ms: samples spread evenly over it */

static volatile unsigned sink;

#define BURN(name, parts)                              \
	BURN_LINKAGE void name(void)                       \
	{                                                  \
		unsigned value = sink;                         \
                                                       \
		for (unsigned i = 0; i < (parts) *ROUNDS; i++) \
			value = value * 1664525u + 1013904223u;    \
		sink = value;                                  \
	}

BURN(burn_sixty, 60)
BURN(burn_thirty, 30)
BURN(burn_ten, 10)
