/*
 * program.c
 *		A program with functions in lines of several files, inlined calls, and much code.
 */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) long
square(long n)
{
	return n * n + n;
}

static inline __attribute__((always_inline)) long
twice(long n)
{
	return square(n) ^ square(n + 1);
}

#define FUNCTION(name, step)                    \
	__attribute__((noinline)) long name(long n) \
	{                                           \
		long sum = 0;                           \
                                                \
		for (long i = 0; i < n; i++)            \
			sum += twice(i * step) % 7;         \
		return sum;                             \
	}

FUNCTION(first, 3)
FUNCTION(second, 5)
static FUNCTION(third, 7)

	static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	long x = *(const long *) a;
	long y = *(const long *) b;

	if (twice(x) < twice(y))
		return -1;
	return x > y;
}

int
main(int argc, char **argv)
{
	long numbers[] = { first(argc), second(argc), third(argc) };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	printf("%ld %ld %ld %s\n", numbers[0], numbers[1], numbers[2], argv[0]);
	return 0;
}
