/*
 * spin.c
 *		A benchmark of three functions, one of which can be made slower: spin ROUNDS [PERCENT].
 *
 * parse_rows, sort_rows and write_rows have 50, 30 and 20 % of the steps. PERCENT of all steps are
 * added to sort_rows. The CPU time of the process, in nanoseconds, becomes a line of the file that
 * the environment variable SPIN_TIMES names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 10000

static volatile unsigned long long sink;

/*
 * Defines a chain of multiplications, whose time depends only on the number of steps. The
 * increments differ because compilers fold equal functions into one.
 */
#define SPINNER(name, increment)                                         \
	__attribute__((noinline)) static void name(unsigned long long steps) \
	{                                                                    \
		unsigned long long state = steps;                                \
                                                                         \
		for (unsigned long long i = 0; i < steps; i++)                   \
			state = state * 6364136223846793005ULL + (increment);        \
		sink += state;                                                   \
	}

SPINNER(parse_rows, 1)
SPINNER(sort_rows, 3)
SPINNER(write_rows, 5)

/* Adds the CPU time of this process to a file. Returns the exit status. */
static int
tell_time(const char *path)
{
	FILE *file = fopen(path, "a");
	struct timespec used;

	if (file == NULL || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
	{
		perror(path);
		return 1;
	}
	fprintf(file, "%lld\n", used.tv_sec * 1000000000LL + used.tv_nsec);
	return fclose(file) == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	unsigned long long rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	const char *times = getenv("SPIN_TIMES");
	unsigned long long percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	for (unsigned long long i = 0; i < rounds; i++)
	{
		parse_rows(50 * STEPS);
		sort_rows((30 + percent) * STEPS);
		write_rows(20 * STEPS);
	}
	printf("%llu rounds\n", rounds);
	return times != NULL ? tell_time(times) : 0;
}
