/* A second unit, into which functions of a header are inlined, too. */
#include "shared.h"

static unsigned
odd(unsigned a)
{
	return a % 2 == 1 ? shared_turn(a, 1) : 0;
}

unsigned
shared_sum(unsigned count)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += odd(i) + shared_turn(sum, 3);
	return sum;
}
